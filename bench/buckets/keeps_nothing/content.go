package main

import (
	"bufio"
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

var errOther = errors.New("other bytes than the key's")

// Bytes that are told apart from those at any other place of the block.
const telling = 16

type content struct {
	size    int64
	doubled []byte
	buffers sync.Pool
}

func newContent(block []byte) *content {
	made := &content{size: int64(len(block)), doubled: append(append([]byte{}, block...), block...)}
	made.buffers.New = func() any { buffer := make([]byte, 256<<10); return &buffer }
	return made
}

// Where in the block a key's bytes are at an offset.
func (content *content) at(key string, offset int64) int64 {
	return (int64(crc32.ChecksumIEEE([]byte(key))) + offset) % content.size
}

func (content *content) write(to io.Writer, key string, offset, length int64) {
	for length > 0 {
		at := content.at(key, offset)
		count := min(length, content.size)
		if _, err := to.Write(content.doubled[at : at+count]); err != nil {
			return
		}
		offset, length = offset+count, length-count
	}
}

// Reads what is sent; where in the block it begins, and how much it is. What is not in the block is an error.
func (content *content) read(from io.Reader) (begins, length int64, err error) {
	buffer := content.buffers.Get().(*[]byte)
	defer content.buffers.Put(buffer)
	count, err := io.ReadAtLeast(from, *buffer, telling)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return 0, 0, err
	}
	if count > 0 {
		begins = int64(bytes.Index(content.doubled, (*buffer)[:min(count, telling)]))
		if begins < 0 {
			return 0, 0, errOther
		}
		begins %= content.size
	}
	for count > 0 {
		at := (begins + length) % content.size
		if !bytes.Equal((*buffer)[:count], content.doubled[at:at+int64(count)]) {
			return 0, 0, errOther
		}
		length += int64(count)
		count, err = from.Read(*buffer)
		if err != nil && err != io.EOF {
			return 0, 0, err
		}
		if count == 0 && err == nil {
			count, err = io.ReadAtLeast(from, *buffer, 1)
		}
	}
	return begins, length, nil
}

// The body without the frames that some clients put around it.
func body(request *http.Request) io.Reader {
	if strings.HasPrefix(request.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return &chunked{from: bufio.NewReaderSize(request.Body, 64<<10)}
	}
	return request.Body
}

// aws-chunked: lengths in hexadecimal digits, each with a signature that nobody looks at here, and trailers.
type chunked struct {
	from  *bufio.Reader
	left  int64
	ended bool
}

func (chunked *chunked) Read(buffer []byte) (int, error) {
	for chunked.left == 0 {
		if chunked.ended {
			return 0, io.EOF
		}
		line, err := chunked.from.ReadString('\n')
		if err != nil {
			return 0, err
		}
		digits, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		if digits == "" {
			continue
		}
		if chunked.left, err = strconv.ParseInt(digits, 16, 64); err != nil {
			return 0, err
		}
		if chunked.left == 0 {
			chunked.ended = true
			_, err := io.Copy(io.Discard, chunked.from)
			if err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
	}
	count, err := chunked.from.Read(buffer[:min(int64(len(buffer)), chunked.left)])
	chunked.left -= int64(count)
	if err == io.EOF && chunked.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return count, err
}
