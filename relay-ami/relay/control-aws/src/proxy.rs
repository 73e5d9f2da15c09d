//! The proxy through which AWS is called, where the machine has no other way out: `HTTPS_PROXY` and `NO_PROXY`.
//!
//! It is for the services alone: the metadata service is asked over HTTP, and lanes are no HTTP at all.

use aws_smithy_http_client::proxy::ProxyConfig;

use cpt_control::ControlError;

/// Returns the proxy that the process' environment names, if any.
///
/// # Errors
///
/// If `HTTPS_PROXY` is none that the daemon can use: it would go on without, and fail with nothing but timeouts.
pub fn from_environment() -> Result<Option<ProxyConfig>, ControlError> {
    from(|name| std::env::var(name).ok())
}

/// Returns the proxy that `variable` names; capitals come first.
///
/// # Errors
///
/// If it is no address of a proxy.
pub fn from(variable: impl Fn(&str) -> Option<String>) -> Result<Option<ProxyConfig>, ControlError> {
    let either = |name: &str| [name.to_owned(), name.to_lowercase()].iter().filter_map(|one| variable(one)).find(|value| !value.is_empty());
    let Some(address) = either("HTTPS_PROXY") else { return Ok(None) };
    // As curl and the AWS command line take it.
    let address = if address.contains("://") { address } else { format!("http://{address}") };
    let proxy = ProxyConfig::https(address.as_str()).map_err(|error| ControlError::Malformed {
        what: "HTTPS_PROXY".to_owned(),
        // Not the address: it may hold a password.
        why: format!("not an address such as http://proxy:3128: {error}"),
    })?;
    Ok(Some(match either("NO_PROXY") {
        Some(hosts) => proxy.no_proxy(hosts),
        None => proxy,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(variables: &[(&str, &str)]) -> Result<Option<ProxyConfig>, ControlError> {
        from(|name| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn without_a_variable_there_is_no_proxy() {
        for variables in [&[][..], &[("HTTPS_PROXY", "")], &[("HTTP_PROXY", "http://proxy:3128")]] {
            assert!(named(variables).unwrap().is_none());
        }
    }

    #[test]
    fn small_letters_and_a_missing_scheme_do() {
        for variables in [[("HTTPS_PROXY", "http://proxy:3128")], [("https_proxy", "http://proxy:3128")], [("HTTPS_PROXY", "proxy:3128")]] {
            assert!(named(&variables).unwrap().is_some());
        }
    }

    #[test]
    fn an_address_that_is_none_is_refused_by_the_variables_name_and_not_repeated() {
        for address in ["socks5://proxy:1080", "http://user:secret@"] {
            let error = named(&[("HTTPS_PROXY", address)]).unwrap_err().to_string();
            assert!(error.starts_with("HTTPS_PROXY: "), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
