//! A machine's own Hadoop configuration: which cluster it belongs to, and how that is spoken to.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Where distributions of Hadoop have it.
const USUAL: &str = "/etc/hadoop/conf";
/// Hadoop's own default.
const A_DAY: Duration = Duration::from_secs(86_400);
const FILES: [&str; 2] = ["core-site.xml", "hdfs-site.xml"];

/// The settings of `core-site.xml` and `hdfs-site.xml`.
#[derive(Debug, PartialEq, Eq)]
pub struct Configuration {
    pub directory: PathBuf,
    settings: BTreeMap<String, String>,
}

impl Configuration {
    /// Reads that of this machine: where `HADOOP_CONF_DIR` says, else where distributions have it.
    pub fn of_machine() -> io::Result<Self> {
        let named = std::env::var_os("HADOOP_CONF_DIR").filter(|directory| !directory.is_empty());
        Self::read(named.map_or_else(|| PathBuf::from(USUAL), PathBuf::from))
    }

    pub fn read(directory: PathBuf) -> io::Result<Self> {
        let mut settings = BTreeMap::new();
        for name in FILES {
            let file = directory.join(name);
            let failed = |why: String| io::Error::other(format!("{}: {why}", file.display()));
            match std::fs::read_to_string(&file) {
                Ok(text) => settings.extend(parse(&text).map_err(failed)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound && name != FILES[0] => {}
                Err(error) => return Err(failed(format!("{error}; a worker of HDFS has the configuration of its cluster there"))),
            }
        }
        Ok(Self { directory, settings })
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// The name service or name node, as all machines of the cluster call it.
    pub fn file_system(&self) -> io::Result<&str> {
        let missing = |what: &str| io::Error::other(format!("{}: {what}", self.directory.join(FILES[0]).display()));
        let name = self.get("fs.defaultFS").ok_or_else(|| missing("has no fs.defaultFS"))?.trim_end_matches('/');
        if name.starts_with("hdfs://") {
            Ok(name)
        } else {
            Err(missing(&format!("fs.defaultFS is {name}; an end of kind hdfs is an hdfs:// file system")))
        }
    }

    /// Whether whoever comes has to prove who he is.
    #[must_use]
    pub fn has_kerberos(&self) -> bool {
        self.get("hadoop.security.authentication").is_some_and(|how| how.eq_ignore_ascii_case("kerberos"))
    }

    /// How long a delegation token holds until it is renewed. The name node's own value counts, which distributions write into the
    /// configuration of every machine.
    #[must_use]
    pub fn renewed_within(&self) -> Duration {
        let milliseconds = self.get("dfs.namenode.delegation.token.renew-interval").and_then(|text| text.parse().ok());
        milliseconds.map_or(A_DAY, Duration::from_millis)
    }

    /// Fails for what this daemon's client of HDFS cannot do, by the setting and what would be right.
    pub fn check(&self) -> io::Result<()> {
        let wrong = |setting: &str, value: &str, right: &str| {
            Err(io::Error::new(io::ErrorKind::Unsupported, format!("{}: {setting} is {value}; {right}", self.directory.display())))
        };
        let how = self.get("hadoop.security.authentication").unwrap_or("simple");
        if !["simple", "kerberos"].iter().any(|known| how.eq_ignore_ascii_case(known)) {
            return wrong("hadoop.security.authentication", how, "it should be simple or kerberos");
        }
        for setting in ["hadoop.rpc.protection", "dfs.data.transfer.protection"] {
            let value = self.get(setting).unwrap_or_default();
            let is_known = |name: &str| ["authentication", "integrity", "privacy"].contains(&name.trim().to_ascii_lowercase().as_str());
            if !value.is_empty() && !value.split(',').all(is_known) {
                return wrong(setting, value, "it should be of authentication, integrity and privacy");
            }
        }
        let encrypts = self.get("dfs.encrypt.data.transfer").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let algorithm = self.get("dfs.encrypt.data.transfer.algorithm").unwrap_or_default();
        if encrypts && !matches!(algorithm, "" | "3des") {
            return wrong(
                "dfs.encrypt.data.transfer.algorithm",
                algorithm,
                "this daemon knows 3des, and AES by dfs.encrypt.data.transfer.cipher.suites",
            );
        }
        Ok(())
    }
}

fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let document = roxmltree::Document::parse(text).map_err(|error| error.to_string())?;
    let text_of = |property: &roxmltree::Node<'_, '_>, name: &str| {
        let found = property.children().find(|child| child.has_tag_name(name))?;
        Some(found.text().unwrap_or_default().trim().to_owned())
    };
    let properties = document.root_element().children().filter(|child| child.has_tag_name("property"));
    Ok(properties.filter_map(|property| Some((text_of(&property, "name")?, text_of(&property, "value")?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(core: &str) -> io::Result<Configuration> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("core-site.xml"), core).unwrap();
        Configuration::read(folder.path().to_owned())
    }

    #[test]
    fn a_machine_tells_its_cluster() {
        let core = "<configuration><property><name>fs.defaultFS</name><value>hdfs://nn:9000/</value></property></configuration>";
        let read = written(core).unwrap();
        assert_eq!(read.file_system().unwrap(), "hdfs://nn:9000");
        assert!(!read.has_kerberos());
    }

    #[test]
    fn a_machine_of_no_cluster_and_one_of_another_file_system_are_named() {
        let missing = Configuration::read(PathBuf::from("/nowhere")).unwrap_err();
        assert!(missing.to_string().contains("/nowhere/core-site.xml"), "{missing}");
        let other = "<configuration><property><name>fs.defaultFS</name><value>s3://b</value></property></configuration>";
        let refused = written(other).unwrap().file_system().unwrap_err();
        assert!(refused.to_string().contains("fs.defaultFS is s3://b"), "{refused}");
        assert!(written("<configuration>").is_err());
    }
}
