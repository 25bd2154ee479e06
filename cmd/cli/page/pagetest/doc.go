// Package pagetest opens the project's pages in a headless Chromium, for tests.
//
//	func TestPageShowsRooms(t *testing.T) {
//		tab := pagetest.Open(t, server.Link("/"))
//		tab.WaitFor(`document.querySelectorAll("tbody tr").length === 2`)
//		tab.Click("#pause")
//		tab.Screenshot("rooms")
//	}
//
// A test that opens a page runs only if TENDON_BROWSER=1 is set and a Chromium is found; otherwise it is skipped. An error on
// the page's console, an exception or a refused resource fails the test unless it is expected. Screenshots are written into
// the directory TENDON_SCREENSHOTS.
package pagetest
