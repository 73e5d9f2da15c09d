// A server of S3's calls that keeps names, sizes and metadata of objects, and none of their bytes, so that a client and not a
// server's disk is what a benchmark measures.
//
// The bytes of all objects are those of one block, over and over, from a place that follows from the key. So what is sent can be
// compared as it comes, and what is asked for is there.
//
//	keepsnothing ADDRESS BLOCK [CERTIFICATE KEY]
package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	if len(os.Args) != 3 && len(os.Args) != 5 {
		log.Fatal("keepsnothing ADDRESS BLOCK [CERTIFICATE KEY]")
	}
	block, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	// As S3: no HTTP/2.
	server := http.Server{Handler: &service{content: newContent(block), store: newStore()}, TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}}
	if len(os.Args) == 5 {
		log.Fatal(server.ServeTLS(listener, os.Args[3], os.Args[4]))
	}
	log.Fatal(server.Serve(listener))
}

type service struct {
	content *content
	store   *store
}

func (service *service) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	query := request.URL.Query()
	switch {
	case bucket == "-":
		service.control(answer, request, key)
	case key == "":
		service.ofBucket(answer, request)
	case query.Has("uploads"):
		service.begin(answer, request, key)
	case query.Has("uploadId"):
		service.ofUpload(answer, request, key)
	case request.Method == http.MethodPut:
		service.put(answer, request, key)
	case request.Method == http.MethodDelete:
		service.store.count("DeleteObject")
		service.store.remove(key)
		answer.WriteHeader(http.StatusNoContent)
	default:
		service.get(answer, request, key)
	}
}

// What the benchmark itself asks for: to begin anew with these objects, and what has become of it.
func (service *service) control(answer http.ResponseWriter, request *http.Request, what string) {
	switch what {
	case "anew":
		var objects map[string]int64
		if err := json.NewDecoder(request.Body).Decode(&objects); err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		service.store.anew(objects)
	case "found":
		_ = json.NewEncoder(answer).Encode(service.store.found())
	default:
		http.NotFound(answer, request)
	}
}

func (service *service) ofBucket(answer http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodGet {
		service.store.count("ListObjectsV2")
		service.store.list(answer, request.URL.Query())
		return
	}
	// It is there, whoever makes it or asks for it.
	service.store.count("bucket")
}

func refuse(answer http.ResponseWriter, status int, code string) {
	answer.Header().Set("Content-Type", "application/xml")
	answer.WriteHeader(status)
	fmt.Fprintf(answer, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}
