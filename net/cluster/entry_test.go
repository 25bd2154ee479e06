package cluster

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

var entries = []Entry{
	{Kind: KindClaim, Owner: "a", Number: 1 << 32, Before: 7, From: 3},
	{Kind: KindData, Owner: strings.Repeat("b", MaxID), Fence: 8, Number: 2, Before: 8, From: itself, Body: []byte("image")},
	{Kind: KindPart, Owner: "c", Fence: 8, Number: 3, Before: 9, From: 3, Body: []byte("part")},
	{Kind: KindRelease, Owner: "d", Fence: 8, Number: 4, Before: 10, From: 3, Body: []byte("last")},
	{Kind: KindMove, Owner: "e", Next: "f", Fence: 8, Number: 5, Before: 11, From: 3, Body: []byte("last")},
	{Kind: KindMove, Owner: "g", Next: strings.Repeat("h", MaxID), Fence: 8, Number: 6, Before: 12},
	{Kind: KindEnd, Owner: "i", Fence: 8, Number: 7, Before: 13},
}

func TestInvalidEntriesAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Entry){
		"an unknown kind":             func(e *Entry) { e.Kind = KindMove + 1 },
		"no owner":                    func(e *Entry) { e.Owner = "" },
		"a long owner":                func(e *Entry) { e.Owner = strings.Repeat("e", MaxID+1) },
		"a move to no server":         func(e *Entry) { e.Next = "" },
		"a move to a long ID":         func(e *Entry) { e.Next = strings.Repeat("f", MaxID+1) },
		"a release with a next owner": func(e *Entry) { e.Kind = KindRelease },
		"a move without a fence":      func(e *Entry) { e.Fence = 0 },
		"a body without a journal":    func(e *Entry) { e.From = 0 },
		"a move begins a journal":     func(e *Entry) { e.From = itself },
		"a long body":                 func(e *Entry) { e.Body = make([]byte, MaxBody+1) },
	} {
		e := entries[4]
		change(&e)
		if b, err := e.Append(nil); !errors.Is(err, ErrEntry) || b != nil {
			t.Errorf("%s: %x, %v", name, b, err)
		}
	}
}

func FuzzEntry(f *testing.F) {
	for _, e := range entries {
		b, err := e.Append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-len(e.Body)-1])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ParseEntry(b)
		if err != nil {
			if !errors.Is(err, ErrEntry) {
				t.Fatalf("%v does not wrap ErrEntry", err)
			}
			return
		}
		if again, err := e.Append(nil); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%+v: %x, %v, want %x", e, again, err, b)
		}
	})
}

func TestEntriesAreReadAsWritten(t *testing.T) {
	for _, e := range entries {
		b, err := e.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseEntry(b)
		if err != nil || got.Kind != e.Kind || got.Owner != e.Owner || got.Next != e.Next || got.Fence != e.Fence || got.Number != e.Number ||
			got.Before != e.Before || got.From != e.From || !bytes.Equal(got.Body, e.Body) {
			t.Errorf("%+v, %v, want %+v", got, err, e)
		}
	}
}
