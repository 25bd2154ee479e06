package netcode

import (
	"slices"
	"testing"
	"time"
)

// The times of the threat table: what one hostile or honest datagram costs.

func BenchmarkOpenToken(b *testing.B) {
	w := newWorld(b, 1)
	request := w.request(w.token(1))
	for b.Loop() {
		if _, _, _, drop := w.server.openRequest(request, unixSeconds(w.now)); drop != 0 {
			b.Fatal(drop)
		}
	}
}

func BenchmarkRequestWithForgedToken(b *testing.B) {
	w := newWorld(b, 1)
	request := w.request(w.token(1, func(r *TokenRequest) { r.Key = Key{} }))
	for b.Loop() {
		w.server.Receive(&w.reply, request, addr(1), w.now)
	}
}

func BenchmarkRequestAndChallenge(b *testing.B) {
	w := newWorld(b, 1)
	request := w.request(w.token(1))
	b.ReportAllocs()
	for b.Loop() {
		w.reply.Reset()
		w.server.Receive(&w.reply, request, addr(1), w.now)
	}
}

func BenchmarkSealAndOpen1200(b *testing.B) {
	p := newPair(b)
	b.SetBytes(MaxPayload)
	b.ReportAllocs()
	for b.Loop() {
		p.up.Reset()
		if err := p.client.Send(&p.up, p.payload, p.now); err != nil {
			b.Fatal(err)
		}
		_, packet := p.up.At(0)
		if e := p.server.Receive(&p.down, packet, addr(1), p.now); e.Kind != Payload {
			b.Fatalf("%+v", e)
		}
	}
}

func BenchmarkJunkFromAStranger(b *testing.B) {
	p := newPair(b)
	junk := slices.Repeat([]byte{0x15}, 100)
	for b.Loop() {
		p.server.Receive(&p.down, junk, addr(2), p.now)
	}
}

// BenchmarkIdleConnection is one Update of 1000 connections, of which every sixth sends a keep-alive, as at 60 Hz.
func BenchmarkIdleConnection(b *testing.B) {
	const n = 1000
	w := newWorld(b, n)
	for i := range n {
		w.join(addr(i), w.token(uint64(i), func(r *TokenRequest) { r.Timeout = -1 }))
		w.now = w.now.Add(time.Millisecond)
		w.step()
		w.step()
		delete(w.clients, addr(i))
	}
	w.wantClients(n)
	w.order = nil
	b.ReportAllocs()
	for b.Loop() {
		w.now = w.now.Add(time.Second / 60)
		w.out.Reset()
		w.server.Update(&w.out, w.now, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/conn")
}

func BenchmarkGenerateToken(b *testing.B) {
	w := newWorld(b, 1)
	for b.Loop() {
		w.token(1)
	}
}
