package page

import "time"

// SetTimeout replaces writeTimeout before the server serves.
func (s *Server) SetTimeout(d time.Duration) { s.http.ReadTimeout, s.http.WriteTimeout = d, d }
