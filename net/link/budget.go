package link

import "time"

// budget limits what a link sends. It is a bucket of bytes that fills with time. New reliable segments wait until the
// bucket holds their size. Retransmitted segments may overdraw it by one burst. Datagrams and acknowledgements never wait.
//
// Datagrams and acknowledgements are paid from later income, of which they take at most seven eighths. Datagrams above
// the budget thus slow the reliable channel down, but cannot stop it.
type budget struct {
	rate   int64 // bytes per second
	burst  int64 // capacity of the bucket
	tokens int64 // content of the bucket, in [-2 burst, burst]
	owed   int64 // sent without waiting and not paid yet, in [0, burst]
}

// newBudget returns a full bucket.
func newBudget(rate int) (b budget) {
	b.set(rate)
	b.tokens = b.burst
	return b
}

// set changes the rate. The bucket then holds the income of 100 ms, but at least two full segments and at most 64 KB.
func (b *budget) set(rate int) {
	b.rate, b.burst = int64(rate), min(max(int64(rate)/10, 2*packetCost(segmentMTU)), 64<<10)
}

// refill adds the income of a time, less what is owed.
func (b *budget) refill(elapsed time.Duration) {
	elapsed = min(elapsed, time.Second) // by then the bucket is full
	income := b.rate * int64(elapsed) / int64(time.Second)
	paid := min(b.owed, income-income/8)
	b.owed -= paid
	b.tokens = min(b.tokens+income-paid, b.burst)
}

// owe charges bytes that are sent without waiting.
func (b *budget) owe(n int) { b.owed = min(b.owed+int64(n), b.burst) }

// overdrawn reports that a retransmission has to wait, too.
func (b *budget) overdrawn() bool { return b.tokens <= -b.burst }

// pay takes n bytes from the bucket.
func (b *budget) pay(n int64) { b.tokens = max(b.tokens-n, -2*b.burst) }
