# shellcheck shell=sh
# Prints what the metadata service says of this machine under $1.
metadata() {
  service="${AWS_EC2_METADATA_SERVICE_ENDPOINT:-http://169.254.169.254}"
  token="$(curl -sf --noproxy '*' --retry 5 -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "${service%/}/latest/api/token")" || return 1
  curl -sf --noproxy '*' --retry 5 -m 5 -H "X-aws-ec2-metadata-token: $token" "${service%/}/latest/meta-data/$1"
}
