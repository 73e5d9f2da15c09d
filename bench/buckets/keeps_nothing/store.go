package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

type object struct {
	size     int64
	etag     string
	modified time.Time
	metadata http.Header
}

type piece struct{ begins, length int64 }

type upload struct {
	header http.Header
	pieces map[int]piece
}

// Names and sizes.
type store struct {
	mutex   sync.Mutex
	objects map[string]object
	// All keys that ever were, but for those that came since the last listing.
	sorted, fresh []string
	uploads       map[string]*upload
	numbers       int
	requests      map[string]int
	wrongs        []string
}

func newStore() *store {
	made := &store{}
	made.anew(nil)
	return made
}

func (store *store) anew(sizes map[string]int64) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	store.objects, store.uploads, store.requests = map[string]object{}, map[string]*upload{}, map[string]int{}
	store.sorted, store.fresh, store.wrongs = nil, nil, nil
	for key, size := range sizes {
		store.add(key, size, nil)
	}
}

// What a benchmark wants to know.
type found struct {
	Objects  int            `json:"objects"`
	Bytes    int64          `json:"bytes"`
	Uploads  int            `json:"uploads"`
	Requests map[string]int `json:"requests"`
	Wrong    []string       `json:"wrong"`
}

func (store *store) found() found {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	told := found{Objects: len(store.objects), Uploads: len(store.uploads), Requests: maps.Clone(store.requests), Wrong: store.wrongs}
	for _, object := range store.objects {
		told.Bytes += object.size
	}
	return told
}

func (store *store) count(operation string) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	store.requests[operation]++
}

func (store *store) wrong(key string, why error) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	store.wrongs = append(store.wrongs, fmt.Sprintf("%s: %v", key, why))
}

func (store *store) add(key string, size int64, header http.Header) string {
	metadata := http.Header{}
	for name, value := range header {
		if strings.HasPrefix(name, "X-Amz-Meta-") {
			metadata[name] = value
		}
	}
	store.numbers++
	if _, known := store.objects[key]; !known {
		store.fresh = append(store.fresh, key)
	}
	// As of parts, so that nobody takes it for an MD5.
	etag := fmt.Sprintf("\"%032x-1\"", store.numbers)
	store.objects[key] = object{size, etag, time.Now(), metadata}
	return etag
}

func (store *store) put(key string, size int64, header http.Header) string {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	return store.add(key, size, header)
}

func (store *store) get(key string) (object, bool) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	object, found := store.objects[key]
	return object, found
}

func (store *store) remove(key string) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	delete(store.objects, key)
}

func (store *store) begin(header http.Header) string {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	store.numbers++
	id := fmt.Sprint(store.numbers)
	store.uploads[id] = &upload{header, map[int]piece{}}
	return id
}

func (store *store) part(id string, number int, come piece) string {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	store.numbers++
	if upload := store.uploads[id]; upload != nil {
		upload.pieces[number] = come
	}
	return fmt.Sprintf("\"%032x\"", store.numbers)
}

func (store *store) end(id string) (*upload, bool) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	upload, found := store.uploads[id]
	delete(store.uploads, id)
	return upload, found
}

// All keys in order; some of them may be gone.
func (store *store) keys() []string {
	if len(store.fresh) > 0 {
		slices.Sort(store.fresh)
		store.sorted = slices.Compact(merged(store.sorted, store.fresh))
		store.fresh = nil
	}
	return store.sorted
}

func merged(one, other []string) []string {
	all := make([]string, 0, len(one)+len(other))
	for len(one) > 0 && len(other) > 0 {
		if one[0] <= other[0] {
			all, one = append(all, one[0]), one[1:]
		} else {
			all, other = append(all, other[0]), other[1:]
		}
	}
	return append(append(all, one...), other...)
}

const mostKeys = 1000

func (store *store) list(answer http.ResponseWriter, query url.Values) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	prefix, delimiter := query.Get("prefix"), query.Get("delimiter")
	after, most := max(query.Get("start-after"), query.Get("continuation-token")), mostKeys
	_, _ = fmt.Sscan(query.Get("max-keys"), &most)
	name := escaped
	if query.Get("encoding-type") == "url" {
		name = func(key string) string { return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/") }
	}
	keys := store.keys()
	at, has := slices.BinarySearch(keys, max(prefix, after))
	if has && after >= prefix {
		at++
	}
	var text strings.Builder
	count, last, isTruncated, seen := 0, "", false, ""
	for ; at < len(keys) && strings.HasPrefix(keys[at], prefix); at++ {
		key := keys[at]
		object, found := store.objects[key]
		if !found || (seen != "" && strings.HasPrefix(key, seen)) {
			continue
		}
		if count == min(most, mostKeys) {
			isTruncated = true
			break
		}
		count, last = count+1, key
		if below, _, is := strings.Cut(key[len(prefix):], delimiter); is && delimiter != "" {
			seen = prefix + below + delimiter
			last = seen + "\U0010FFFF"
			fmt.Fprintf(&text, "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>", name(seen))
			continue
		}
		fmt.Fprintf(&text, "<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s</ETag><Size>%d</Size><StorageClass>STANDARD</StorageClass></Contents>",
			name(key), object.modified.UTC().Format("2006-01-02T15:04:05.000Z"), escaped(object.etag), object.size)
	}
	answer.Header().Set("Content-Type", "application/xml")
	fmt.Fprintf(answer, "<ListBucketResult><Prefix>%s</Prefix><KeyCount>%d</KeyCount><MaxKeys>%d</MaxKeys><IsTruncated>%t</IsTruncated>", name(prefix), count, most, isTruncated)
	if query.Get("encoding-type") == "url" {
		fmt.Fprint(answer, "<EncodingType>url</EncodingType>")
	}
	if isTruncated {
		fmt.Fprintf(answer, "<NextContinuationToken>%s</NextContinuationToken>", escaped(last))
	}
	fmt.Fprint(answer, text.String(), "</ListBucketResult>")
}
