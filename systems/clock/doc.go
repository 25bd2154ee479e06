// Package clock paces a client: how fast its ticks follow each other, and how far ahead of the server it runs so that
// its inputs arrive just before they are used.
//
// Two needs must not be merged: mapping one clock to another, and arriving in time. The second is what Lead does. It
// is driven by what the server measured of earlier inputs, never by an estimate of the server's clock.
//
// Nothing here reads a clock; the time comes in as an argument.
package clock
