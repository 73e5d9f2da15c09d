//! Two name nodes, of which the one that serves dies and the other one takes its place. With `make chaos`.

use std::sync::OnceLock;

use super::apart::is_full;
use super::hadoop::Hadoop;
use super::hdfs_faults::{comes_whole, is_read_whole};

#[test]
fn a_name_node_whose_place_another_one_takes_costs_no_byte() {
    static STARTED: OnceLock<Option<Hadoop>> = OnceLock::new();
    if !is_full() {
        return;
    }
    let Some(of) = STARTED.get_or_init(|| Hadoop::start(&["--standby"])).as_ref() else { return };
    comes_whole(of, |_| ["kill name", "activate standby"].iter().for_each(|line| of.tell(line)));
    of.tell("whole");
    is_read_whole(of, || ["kill standby", "activate name"].iter().for_each(|line| of.tell(line)));
}
