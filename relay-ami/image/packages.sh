#!/bin/sh
# What the minimal Amazon Linux 2023 lacks: the agent that starts relays, and the command line that fetches a newer daemon.
set -eu
dnf install -q -y amazon-ssm-agent awscli-2
systemctl enable amazon-ssm-agent
dnf clean all -q
