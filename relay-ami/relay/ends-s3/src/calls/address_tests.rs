use super::*;

#[test]
fn buckets_are_called_where_the_sdk_calls_them() {
    for (bucket, region, endpoint, expected) in [
        ("there", "eu-west-1", None, "https://there.s3.eu-west-1.amazonaws.com/k"),
        ("there", "us-east-1", None, "https://there.s3.us-east-1.amazonaws.com/k"),
        ("there", "cn-north-1", None, "https://there.s3.cn-north-1.amazonaws.com.cn/k"),
        ("with.dots", "eu-west-1", None, "https://s3.eu-west-1.amazonaws.com/with.dots/k"),
        ("there", "eu-west-1", Some("http://127.0.0.1:7000"), "http://127.0.0.1:7000/there/k"),
        ("there", "eu-west-1", Some("https://store.example/below/"), "https://store.example/below/there/k"),
    ] {
        let found = Address::of(bucket, region, endpoint).unwrap();
        assert_eq!((&*found.object("k", ""), &*found.region), (expected, region));
    }
}

#[test]
fn a_bucket_whose_requests_are_signed_otherwise_is_refused() {
    let why = Address::of("there--euw1-az1--x-s3", "eu-west-1", None).unwrap_err();
    assert!(why.to_string().contains("not signed by SigV4"), "{why}");
}

#[test]
fn keys_keep_their_slashes_and_all_else_that_means_something_is_encoded() {
    let at = Address::of("there", "eu-west-1", Some("http://h")).unwrap();
    assert_eq!(at.object("a+b %20//é/../?#", "x=1"), "http://h/there/a%2Bb%20%2520//%C3%A9/../%3F%23?x=1");
    assert_eq!(encoded("a/b+c"), "a%2Fb%2Bc");
}
