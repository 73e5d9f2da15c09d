//! What a plan is asked for.

use cpt_relay::documents::command::{Compare, Overwrite};

use cpt_relay::documents::text::LandingPath;

use crate::interfere::Op;
use crate::random::Random;
use crate::selecting::Rules;
use crate::tally::Tally;

/// No rule that is drawn is about these names.
const LANDS_AS: &str = "lands/here";

/// When somebody changes the source of a plan that is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Once so many entries are listed.
    Listing(u64),
    /// Between the listing and whatever comes next.
    Listed,
    /// Between the source's digests and the comparison.
    Digested,
}

#[derive(Clone, Debug)]
pub struct Wish {
    pub source: usize,
    pub chunk_kib: u64,
    /// The source arrives under its own name.
    pub by_name: bool,
    /// Or under this one, with `by_name` itself, else what it holds.
    pub lands_as: Option<&'static str>,
    pub compare: Option<Compare>,
    /// Of what a comparison finds; not where further names are kept.
    pub overwrite: Overwrite,
    pub rules: Option<Rules>,
    pub meanwhile: Option<(When, Op)>,
    /// Beside the source comes a file of the kernel's, which says that it is empty and is not.
    pub with_liar: bool,
    /// What links lead to arrives in their place.
    pub follows: bool,
    /// Files are digested with a CRC at both ends.
    pub crc64: bool,
}

impl Wish {
    /// All of a source, in chunks that several lanes share.
    pub const PLAIN: Self = Self {
        source: 0,
        chunk_kib: 32,
        by_name: false,
        lands_as: None,
        compare: None,
        overwrite: Overwrite::Always,
        rules: None,
        meanwhile: None,
        with_liar: false,
        follows: false,
        crc64: false,
    };

    pub fn draw(random: &mut Random, source: usize) -> Self {
        let listing = When::Listing(1 + random.below(20) as u64);
        let when = [listing, listing, When::Listed, When::Digested];
        let meanwhile = (random.pick(&when), Op::draw_living(random));
        let rules = Rules::draw(random);
        let mut aside = random.aside();
        let (follows, lands_elsewhere, crc64) = (aside.one_in(3), aside.one_in(4), aside.one_in(3));
        Self {
            source,
            chunk_kib: random.pick(&[16, 16, 32]),
            by_name: random.one_in(6),
            compare: random.pick(&[None, None, Some(Compare::SizeTime), Some(Compare::Digest), Some(Compare::Digest)]),
            rules: random.one_in(4).then_some(rules),
            meanwhile: random.one_in(4).then_some(meanwhile),
            with_liar: random.one_in(8),
            // The last draw: a seed draws all else as it did before.
            overwrite: random.pick(&[Overwrite::Always, Overwrite::Always, Overwrite::IfNewer, Overwrite::Never]),
            follows,
            crc64,
            lands_as: lands_elsewhere.then_some(LANDS_AS),
        }
    }

    /// Directories that lead to what arrives and that no source has, the deepest one last.
    pub fn above(&self) -> Vec<LandingPath> {
        let Some(lands_as) = self.lands_as else { return Vec::new() };
        let whole = Some(lands_as).filter(|_| !self.by_name);
        let leading = lands_as.match_indices('/').map(|(at, _)| &lands_as[..at]).chain(whole);
        leading.map(|path| LandingPath::new(path).unwrap()).collect()
    }

    pub fn count(&self, tally: &mut Tally) {
        tally.count(match self.compare {
            None => "plans: of everything",
            Some(Compare::SizeTime) => "plans: by size and time",
            Some(Compare::Digest) => "plans: by digest",
        });
        match self.overwrite {
            Overwrite::Always => {}
            Overwrite::IfNewer => tally.count("plans: that replace what is older"),
            Overwrite::Never => tally.count("plans: that replace nothing"),
        }
        if self.lands_as.is_some() {
            tally.count("plans: that land under another path");
        }
        if self.rules.is_some() {
            tally.count("plans: with rules");
        }
        if self.follows {
            tally.count("plans: that follow links");
        }
        if self.crc64 {
            tally.count("plans: proved by a CRC");
        }
        if self.with_liar {
            tally.count("plans: with a file that is no size");
        }
        match self.meanwhile {
            None => {}
            Some((When::Listing(_), _)) => tally.count("living: while it is listed"),
            Some(_) => tally.count("living: before it is sent"),
        }
    }
}
