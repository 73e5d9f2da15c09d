//! The bytes of every frame: a change here is a new protocol version.

use super::*;

fn frames() -> Vec<(Frame, &'static str)> {
    let segment = SegmentHeader {
        entry: 5,
        kind: Kind::Symlink,
        mode: 0o777,
        mtime_ns: -1,
        size: 16,
        offset: 8,
        length: 4,
        path: b"a/\xff".to_vec(),
        target: b"..".to_vec(),
        attributes: b"{}".to_vec(),
    };
    vec![
        (
            Frame::Hello {
                version: VERSION,
                transfer: "t".into(),
                seat: Seat::new("s1").unwrap(),
                epoch: 2,
                path: "direct".into(),
                generation: 3,
                lane: 4,
                proof: Proof::Crc64,
            },
            "0100000026 000c 000174 00027331 0000000000000002 0006646972656374 0000000000000003 00000004 01",
        ),
        (Frame::Chunk { chunk: 258, attempt: 1, segments: 2, phase: 1 }, "0200000011 0000000000000102 00000001 00000002 01"),
        (
            Frame::Segment(segment),
            "0300000038 0000000000000005 02 01ff ffffffffffffffff 0000000000000010 0000000000000008 0000000000000004 0003612fff 00022e2e 00027b7d",
        ),
        (Frame::Digest([0xab; 32]), "0500000020 abababababababababababababababababababababababababababababababab"),
        (Frame::Abort { reason: FailureReason::SourceChanged, message: "no".into() }, "0600000005 03 00026e6f"),
        (Frame::Hole(258), "0c00000008 0000000000000102"),
        (Frame::Offer { block: 65_536, digests: vec![0xab; 16] }, "0e00000016 00010000 0010 abababababababababababababababab"),
        (Frame::Copy(258), "0f00000008 0000000000000102"),
        (Frame::Has { chunk: 1, attempt: 2, blocks: vec![5] }, "890000000f 0000000000000001 00000002 0001 05"),
        (Frame::Drain, "0700000000"),
        (Frame::Gather, "1000000000"),
        (Frame::Gathered { files: 2, copied: 258 }, "8a00000010 0000000000000002 0000000000000102"),
        (Frame::Pause, "0900000000"),
        (
            Frame::Finish { complete: true, skipped: 2, entries: 7, tree: [1; 32] },
            "0800000031 01 0000000000000002 0000000000000007 0101010101010101010101010101010101010101010101010101010101010101",
        ),
        (Frame::Forget { entry: 5, last: true }, "0a00000009 0000000000000005 01"),
        (Frame::Welcome { version: VERSION, epoch: 2, proof: Proof::Blake3 }, "810000000b 000c 0000000000000002 00"),
        (Frame::Ack { chunk: 1, attempt: 2 }, "820000000c 0000000000000001 00000002"),
        (
            Frame::Nack { chunk: 1, attempt: 2, reason: FailureReason::ChecksumMismatch, message: String::new() },
            "830000000f 0000000000000001 00000002 01 0000",
        ),
        (
            Frame::Finished { agreed: false, entries: 3, received: 7, kept: 9, message: "x".into() },
            "840000001c 00 0000000000000003 0000000000000007 0000000000000009 000178",
        ),
        (Frame::Forgotten, "8500000000"),
        (Frame::Skip { entry: 5, reason: SkipReason::SourceChanged, message: "no".into() }, "0b0000000d 0000000000000005 01 00026e6f"),
        (
            Frame::Refused { chunk: 1, attempt: 2, entry: 5, reason: SkipReason::DestinationConflict, message: "no".into() },
            "8600000019 0000000000000001 00000002 0000000000000005 03 00026e6f",
        ),
        (Frame::Full { chunk: 1, attempt: 2, message: "no".into() }, "8700000010 0000000000000001 00000002 00026e6f"),
        (Frame::Alive { is_busy: true }, "8800000001 01"),
    ]
}

#[test]
fn golden_bytes_both_ways() {
    for (frame, golden) in frames() {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(text, golden.replace(' ', ""), "{frame:?}");
        assert_eq!(Frame::decode(bytes[0], &bytes[HEADER_BYTES..]), Ok(frame));
    }
    let mut data = Vec::new();
    Frame::Data(70_000).encode(&mut data);
    assert_eq!(data, [0x04, 0x00, 0x01, 0x11, 0x70]);
    data.clear();
    Frame::Packed(258).encode(&mut data);
    assert_eq!(data, [0x0d, 0x00, 0x00, 0x01, 0x02]);
}

#[test]
fn an_end_of_another_version_is_refused_by_name_whatever_its_fields_are() {
    for (type_byte, theirs) in [(0x01, [0, 10]), (0x81, [0, 13])] {
        let refused = Frame::decode(type_byte, &theirs).unwrap_err();
        assert_eq!(refused, WireError::Version { theirs: u16::from_be_bytes(theirs), ours: VERSION });
    }
}

#[test]
fn cut_and_padded_frames_are_refused() {
    for (frame, _) in frames() {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let payload = &bytes[HEADER_BYTES..];
        for length in 0..payload.len() {
            assert!(Frame::decode(bytes[0], &payload[..length]).is_err(), "{frame:?} cut to {length}");
        }
        assert!(Frame::decode(bytes[0], &[payload, b"x"].concat()).is_err(), "{frame:?} padded");
    }
    for unknown in [0x00, 0x11, 0x80, 0x8b, 0xff] {
        assert!(Frame::decode(unknown, &[]).is_err());
    }
}
