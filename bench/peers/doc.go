// Package peers compares Tendon with other libraries: donburi and ark as component stores, kcp-go's sessions as a room
// server. It is a module of its own, so that Tendon does not depend on them.
//
//	cd bench/peers && go test -bench . -benchtime 1x [-write]
//
// bench/README.md describes the method.
package peers
