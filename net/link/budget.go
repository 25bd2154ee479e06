package link

import "time"

// budget is a bucket of bytes that fills with time. Whatever leaves is paid
// from it; new reliable segments wait until it holds them, retransmitted ones
// may overdraw it by one burst, and datagrams and acknowledgements never wait.
//
// Those that never wait are paid from later income, not from the bucket,
// and from at most seven eighths of it: datagrams that overrun the budget slow the
// reliable channel down and cannot stop it.
type budget struct {
	rate   int64 // bytes a second
	burst  int64 // the most that the bucket holds
	tokens int64 // what it holds, in [-2 burst, burst]
	owed   int64 // spent without waiting and not paid yet, in [0, burst]
}

// newBudget returns a full bucket of 100 ms: enough for one tick of the
// slowest game, and for two full segments.
func newBudget(rate int) budget {
	b := budget{rate: int64(rate), burst: min(max(int64(rate)/10, 2*packetCost(segmentMTU)), 64<<10)}
	b.tokens = b.burst
	return b
}

// refill adds the income of a time and pays from it what is owed.
func (b *budget) refill(elapsed time.Duration) {
	elapsed = min(elapsed, time.Second) // above it the bucket is full anyway
	income := b.rate * int64(elapsed) / int64(time.Second)
	paid := min(b.owed, income-income/8)
	b.owed -= paid
	b.tokens = min(b.tokens+income-paid, b.burst)
}

// spend books bytes that leave without waiting.
func (b *budget) spend(n int) { b.owed = min(b.owed+int64(n), b.burst) }

// overdrawn reports that not even a retransmission may leave.
func (b *budget) overdrawn() bool { return b.tokens <= -b.burst }

// pay takes n bytes out of the bucket.
func (b *budget) pay(n int64) { b.tokens = max(b.tokens-n, -2*b.burst) }
