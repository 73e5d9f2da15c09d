use std::time::Duration;

use aws_smithy_types::body::SdkBody;

use super::*;

/// The account, the day and the expected signatures are those of S3's documentation,
/// <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>.
const DAY: u64 = 1_369_353_600;

fn signature(method: &str, uri: &str, headers: &[(&'static str, &'static str)], body: &[u8]) -> String {
    let mut request = HttpRequest::new(SdkBody::empty());
    request.set_method(method).unwrap();
    request.set_uri(uri.to_owned()).unwrap();
    headers.iter().for_each(|(name, value)| drop(request.headers_mut().insert(*name, *value)));
    let keys = Credentials::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None, None, "test");
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(DAY);
    add(&mut request, SignableBody::Bytes(body), keys, "us-east-1", at).unwrap();
    let told = request.headers().get("authorization").unwrap();
    assert!(told.starts_with("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "), "{told}");
    told.rsplit_once("Signature=").unwrap().1.to_owned()
}

#[test]
fn requests_are_signed_as_the_documentation_of_s3_signs_its_examples() {
    let host = "https://examplebucket.s3.amazonaws.com";
    let get = signature("GET", &format!("{host}/test.txt"), &[("range", "bytes=0-9")], b"");
    assert_eq!(get, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    let headers = [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")];
    let put = signature("PUT", &format!("{host}/test%24file.text"), &headers, b"Welcome to Amazon S3.");
    assert_eq!(put, "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    let of_bucket = signature("GET", &format!("{host}/?lifecycle"), &[], b"");
    assert_eq!(of_bucket, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    let listing = signature("GET", &format!("{host}/?max-keys=2&prefix=J"), &[], b"");
    assert_eq!(listing, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}
