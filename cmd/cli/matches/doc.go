// Package matches keeps the record of every decided match in one bbolt file: who played, what came out, who said so,
// and where the recording lies. It decides nothing and knows no game; the verbs serve and matches are built on it.
//
//	store, err := matches.Open("matches.db") // the server: writes, and answers those who ask
//	recorder := matches.NewRecorder(store, func(err error) { log.Print(err) })
//	recorder.Add(matches.Record{Room: "main", Result: "3:1", Verdict: "majority"}) // never waits
//	err = errors.Join(recorder.Close(), store.Close())
//
//	for r, err := range matches.Read("matches.db", "") { … } // anybody, beside a running server too
//
// Tasks:
//
//   - keep a match for good: [Store.Add], which returns when the disk has it
//   - keep a match from a loop that must not wait: [Recorder.Add]; [Recorder.Wait] does
//   - list matches, newest first: [Read]
//
// # Beside a running server
//
// A bbolt file has one process that writes, and nobody else may open it meanwhile. So a Store also listens on a Unix
// socket beside the file, FILE.sock, which only its own user may open; [Read] asks there first and opens the file,
// read-only, when nobody answers. Either way it takes one bounded page at a time and holds neither lock nor connection
// between pages, so a slow reader keeps no server from starting and no record from being written.
//
// A question is one line of JSON, {"room":"main","before":18}, at most 1 KiB; before is an id, 0 for the newest. The
// answer is one line too, {"records":[…],"next":5} or {"error":"…"}; next is the before of the next page, 0 at the
// end. An answer that was cut off is no JSON and so is noticed. Unix sockets are there on every system that bbolt runs
// on, and the right to open a file is all the authentication that is needed, which is why it is no loopback port. Where
// the path is too long for one (about 100 bytes) or the file system has none, the socket lies in a fresh private
// directory and FILE.sock is a symbolic link to it. What a killed server leaves is replaced by the next one: who has
// the lock knows that nobody listens.
package matches
