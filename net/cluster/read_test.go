package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// interrupting is a store in which something happens after each call of Last.
type interrupting struct {
	*Memory
	after func()
}

func (i *interrupting) Last(ctx context.Context, room string) (Entry, uint64, error) {
	e, at, err := i.Memory.Last(ctx, room)
	i.after()
	return e, at, err
}

// ReadJournal returns the journal of a room that another server owns. It repeats the read if the owner trims the log meanwhile.
func TestAJournalIsReadWithoutAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var store Memory
		n, err := New(Config{Store: &store})
		if err != nil {
			t.Fatal(err)
		}
		n.body = 4
		go n.Run(ctx)
		read := func(want string) {
			t.Helper()
			before := store.sequence
			if journal, err := ReadJournal(ctx, &store, "duel"); err != nil || string(journal) != want || store.sequence != before {
				t.Errorf("the journal is %q, %v: want %q; %d entries were added", journal, err, want, store.sequence-before)
			}
		}
		read("")
		r, err := n.Claim(ctx, "duel")
		if err != nil {
			t.Fatal(err)
		}
		read("")
		add := func(text string, begins bool) {
			t.Helper()
			if err := r.Append(ctx, []byte(text), begins); err != nil {
				t.Fatal(err)
			}
		}
		add("image in parts", true)
		read("image in parts")
		add(" and ticks", false)
		read("image in parts and ticks")

		// The owner restarts the journal, and fails after the first part.
		e := Entry{Kind: KindPart, Owner: n.ID(), Fence: r.fence, Number: r.numbers + 1, Before: r.last, From: r.begin, Body: []byte("torn")}
		if _, err := store.Append(ctx, "duel", &e); err != nil {
			t.Fatal(err)
		}
		read("image in parts and ticks")
		r.last, r.numbers = store.sequence, e.Number

		times := 0
		busy := interrupting{&store, func() {
			if times++; times > 2 {
				return
			}
			add("anew", true)
			if err := store.Trim(ctx, "duel", r.begin); err != nil {
				t.Fatal(err)
			}
		}}
		if journal, err := ReadJournal(ctx, &busy, "duel"); err != nil || string(journal) != "anew" || times != 3 {
			t.Errorf("while the log is trimmed: %q, %v, after %d attempts", journal, err, times)
		}
		add(" and lost", false)
		lossy := store.logs["duel"]
		store.logs["duel"] = lossy[1:]
		if _, err := ReadJournal(ctx, &store, "duel"); !errors.Is(err, ErrJournal) {
			t.Errorf("without the first entry: %v", err)
		}
		store.logs["duel"] = lossy
		if err := r.End(ctx); err != nil {
			t.Fatal(err)
		}
		read("")
		cancel()
		synctest.Wait()
	})
}
