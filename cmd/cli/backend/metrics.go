package backend

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the figures of a Service. Their label values are from fixed lists: routes, classes of status codes, names of queues.
type metrics struct {
	handler  http.Handler
	requests *prometheus.CounterVec
	waiting  *prometheus.GaugeVec
	matched  prometheus.Gauge
	matches  prometheus.Counter
	passed   prometheus.Histogram
	stored   prometheus.Histogram
}

func newMetrics(s *Service) *metrics {
	buckets := []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3}
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tendon_backend_requests_total", Help: "Requests, by route and class of the status."}, []string{"route", "status"}),
		waiting:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tendon_backend_waiting_tickets", Help: "Tickets that wait."}, []string{"queue"}),
		matched:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "tendon_backend_matched_tickets", Help: "Tickets that were matched in the last two minutes."}),
		matches:  prometheus.NewCounter(prometheus.CounterOpts{Name: "tendon_backend_matches_total", Help: "Matches and fills of open rooms."}),
		passed:   prometheus.NewHistogram(prometheus.HistogramOpts{Name: "tendon_backend_pass_seconds", Help: "Duration of a pass over a queue.", Buckets: buckets}),
		stored:   prometheus.NewHistogram(prometheus.HistogramOpts{Name: "tendon_backend_store_seconds", Help: "Duration of an append to the log.", Buckets: buckets}),
	}
	active := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "tendon_backend_active", Help: "1 if this backend decides matches."}, func() float64 {
		if s.Active() {
			return 1
		}
		return 0
	})
	for _, q := range s.config.Queues {
		m.waiting.WithLabelValues(q.Name).Set(0)
	}
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.requests, m.waiting, m.matched, m.matches, m.passed, m.stored, active)
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
	return m
}

// set sets the numbers of tickets.
func (m *metrics) set(waiting map[string]int, matched int) {
	for q, n := range waiting {
		m.waiting.WithLabelValues(q).Set(float64(n))
	}
	m.matched.Set(float64(matched))
}

func (m *metrics) count(route string, status int) {
	m.requests.WithLabelValues(route, strconv.Itoa(status/100)+"xx").Inc()
}
