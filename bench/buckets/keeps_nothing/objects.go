package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Notes that a client writes beside what it moves: they are of other bytes, and are taken as they come.
const notes = "/.cpt-partial-"

func (service *service) put(answer http.ResponseWriter, request *http.Request, key string) {
	service.store.count("PutObject")
	begins, length, err := service.content.read(body(request))
	switch {
	case strings.Contains("/"+key, notes):
		_, _ = io.Copy(io.Discard, request.Body)
	case err != nil || (length > 0 && begins != service.content.at(key, 0)):
		service.store.wrong(key, err)
	}
	answer.Header().Set("ETag", service.store.put(key, length, request.Header))
}

func (service *service) get(answer http.ResponseWriter, request *http.Request, key string) {
	operation := "GetObject"
	if request.Method == http.MethodHead {
		operation = "HeadObject"
	}
	service.store.count(operation)
	object, found := service.store.get(key)
	if !found {
		refuse(answer, http.StatusNotFound, "NoSuchKey")
		return
	}
	header := answer.Header()
	header.Set("ETag", object.etag)
	header.Set("Last-Modified", object.modified.UTC().Format(http.TimeFormat))
	header.Set("Accept-Ranges", "bytes")
	header.Set("Content-Type", "binary/octet-stream")
	for name, value := range object.metadata {
		header[name] = value
	}
	from, to, status := int64(0), object.size, http.StatusOK
	if text := request.Header.Get("Range"); text != "" {
		first, last, _ := strings.Cut(strings.TrimPrefix(text, "bytes="), "-")
		var err error
		if from, err = strconv.ParseInt(first, 10, 64); err != nil || from >= object.size {
			refuse(answer, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
			return
		}
		if end, err := strconv.ParseInt(last, 10, 64); err == nil {
			to = min(to, end+1)
		}
		status = http.StatusPartialContent
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, object.size))
	}
	header.Set("Content-Length", strconv.FormatInt(to-from, 10))
	answer.WriteHeader(status)
	if request.Method == http.MethodGet {
		service.content.write(answer, key, from, to-from)
	}
}

func (service *service) begin(answer http.ResponseWriter, request *http.Request, key string) {
	service.store.count("CreateMultipartUpload")
	id := service.store.begin(request.Header)
	fmt.Fprintf(answer, "<InitiateMultipartUploadResult><Key>%s</Key><UploadId>%s</UploadId></InitiateMultipartUploadResult>", escaped(key), id)
}

func (service *service) ofUpload(answer http.ResponseWriter, request *http.Request, key string) {
	id := request.URL.Query().Get("uploadId")
	switch request.Method {
	case http.MethodPut:
		service.store.count("UploadPart")
		begins, length, err := service.content.read(body(request))
		if err != nil {
			service.store.wrong(key, err)
		}
		number, _ := strconv.Atoi(request.URL.Query().Get("partNumber"))
		answer.Header().Set("ETag", service.store.part(id, number, piece{begins, length}))
	case http.MethodPost:
		service.store.count("CompleteMultipartUpload")
		_, _ = io.Copy(io.Discard, request.Body)
		upload, found := service.store.end(id)
		if !found {
			refuse(answer, http.StatusNotFound, "NoSuchUpload")
			return
		}
		size := int64(0)
		for _, number := range slices.Sorted(maps.Keys(upload.pieces)) {
			piece := upload.pieces[number]
			if piece.length > 0 && piece.begins != service.content.at(key, size) {
				service.store.wrong(key, errOther)
			}
			size += piece.length
		}
		etag := service.store.put(key, size, upload.header)
		fmt.Fprintf(answer, "<CompleteMultipartUploadResult><Key>%s</Key><ETag>%s</ETag></CompleteMultipartUploadResult>", escaped(key), escaped(etag))
	default:
		service.store.count("AbortMultipartUpload")
		service.store.end(id)
		answer.WriteHeader(http.StatusNoContent)
	}
}

func escaped(text string) string {
	var made strings.Builder
	_ = xml.EscapeText(&made, []byte(text))
	return made.String()
}
