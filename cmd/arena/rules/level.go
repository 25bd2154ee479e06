package rules

import (
	_ "embed"
	"fmt"
	"strings"

	"tendon/ecs/fixed"
	"tendon/ecs/space"
)

// Level is the arena: read once from the level file, never written. Positions are metres, the origin is the upper left
// corner, y points down.
type Level struct {
	Columns, Rows int         // in squares of squareSize
	Walls         []Box       // the high ones first
	high          int         // number of high walls
	tiles         space.Tiles // the walls as squares, for collisions
	Doors         []Doorway
	Spawns, Kits  []fixed.Vec2

	next []uint8 // by goal and square: which of headings leads there, 1 + its index, 0 if none does
}

// Box is an upright block from the floor to Top, with sides along the axes.
type Box struct {
	space.Bounds
	Top fixed.Num
}

// The kinds of tiles; 0 is free.
const (
	lowTile  = 1
	highTile = 2
)

var (
	highTiles = space.Of(highTile)
	allTiles  = space.Of(lowTile, highTile)
)

// solidAt returns the tiles that are obstacles at a height above the floor.
func solidAt(z fixed.Num) space.Solid {
	switch {
	case z >= wallTop:
		return 0
	case z >= lowTop:
		return highTiles
	}
	return allTiles
}

// Doorway is a place in a wall that a door fills. The door opens towards Min along the wall.
type Doorway struct {
	Box
	Upright bool // the wall runs along y
}

const (
	squareSize = 2  // metres; the middle of a square is 1 m from its sides
	maxDoors   = 8  // what Scene holds
	maxRows    = 32 // of squares
	maxKits    = 16 // what KitTimes holds
)

var (
	//go:embed level.txt
	levelText []byte

	wallTop   = fixed.FromInt(3)
	lowTop    = fixed.FromRatio(8, 10)
	doorDepth = fixed.FromRatio(1, 2)
	square    = fixed.FromInt(squareSize)

	level = func() *Level {
		l, err := parseLevel(string(levelText))
		if err != nil {
			panic(err) // the file is part of the program
		}
		return l
	}()
)

// parseLevel reads a level file: comment lines start with a semicolon, the others are rows of squares.
func parseLevel(text string) (*Level, error) {
	var rows []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != ';' {
			rows = append(rows, line)
		}
	}
	if len(rows) == 0 || len(rows) > maxRows {
		return nil, fmt.Errorf("rules: the level has %d rows, want 1 to %d", len(rows), maxRows)
	}
	l := &Level{Columns: len(rows[0]), Rows: len(rows)}
	l.tiles = space.Tiles{Size: square, Columns: l.Columns}
	for y, row := range rows {
		if len(row) != l.Columns {
			return nil, fmt.Errorf("rules: row %d of the level has %d squares, the first has %d", y+1, len(row), l.Columns)
		}
		for x := range row {
			l.tiles.Kinds = append(l.tiles.Kinds, uint8(strings.IndexByte("-#", row[x])+1))
			if err := l.place(x, y, row[x]); err != nil {
				return nil, err
			}
		}
	}
	l.build(rows, '#', wallTop)
	l.high = len(l.Walls)
	l.build(rows, '-', lowTop)
	if len(l.Spawns) < maxPlayers || len(l.Kits) > maxKits || len(l.Doors) > maxDoors {
		return nil, fmt.Errorf("rules: the level has %d spawn points, %d kits and %d doors; it needs %d, at most %d and at most %d",
			len(l.Spawns), len(l.Kits), len(l.Doors), maxPlayers, maxKits, maxDoors)
	}
	l.chart(rows)
	return l, nil
}

// place adds the content of one square, except walls.
func (l *Level) place(x, y int, what byte) error {
	middle := metres(x*squareSize+1, y*squareSize+1)
	switch what {
	case '#', '-', '.':
	case 's':
		l.Spawns = append(l.Spawns, middle)
	case 'k':
		l.Kits = append(l.Kits, middle)
	case 'H', 'V':
		half := fixed.Vec2{X: square / 2, Y: doorDepth / 2}
		if what == 'V' {
			half = fixed.Vec2{X: half.Y, Y: half.X}
		}
		l.Doors = append(l.Doors, Doorway{Upright: what == 'V', Box: Box{space.Bounds{Min: middle.Sub(half), Max: middle.Add(half)}, wallTop}})
	default:
		return fmt.Errorf("rules: the level has %q in row %d, column %d", what, y+1, x+1)
	}
	return nil
}

// build covers the squares marked what with as few boxes as a greedy search finds: each grows right, then down.
func (l *Level) build(rows []string, what byte, top fixed.Num) {
	done := make([]bool, l.Columns*l.Rows)
	free := func(x, y int) bool {
		return x < l.Columns && y < l.Rows && rows[y][x] == what && !done[y*l.Columns+x]
	}
	for y := range l.Rows {
		for x := range l.Columns {
			if !free(x, y) {
				continue
			}
			right, down := x, y
			for free(right, y) {
				right++
			}
			for whole := true; whole; {
				down++
				for i := x; i < right; i++ {
					whole = whole && free(i, down)
				}
			}
			for j := y; j < down; j++ {
				for i := x; i < right; i++ {
					done[j*l.Columns+i] = true
				}
			}
			l.Walls = append(l.Walls, Box{space.Bounds{Min: metres(x*squareSize, y*squareSize), Max: metres(right*squareSize, down*squareSize)}, top})
		}
	}
}

// headings are the ways out of a square, straight ones first so that paths prefer them.
var headings = [8][2]int{{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}, {-1, 1}, {-1, -1}, {1, -1}}

// chart finds, by a breadth-first search from every square, the way from everywhere to everywhere.
func (l *Level) chart(rows []string) {
	n := l.Columns * l.Rows
	l.next = make([]uint8, n*n)
	open := func(x, y int) bool { return rows[y][x] != '#' && rows[y][x] != '-' }
	queue := make([]int, 0, n)
	for goal := range n {
		if !open(goal%l.Columns, goal/l.Columns) {
			continue
		}
		queue = append(queue[:0], goal)
		for head := 0; head < len(queue); head++ {
			x, y := queue[head]%l.Columns, queue[head]/l.Columns
			for i, h := range headings {
				fx, fy := x-h[0], y-h[1] // the square from which this heading leads here
				if !open(fx, fy) || !open(fx, y) || !open(x, fy) {
					continue
				}
				from := fy*l.Columns + fx
				if from != goal && l.next[goal*n+from] == 0 {
					l.next[goal*n+from] = uint8(i) + 1
					queue = append(queue, from)
				}
			}
		}
	}
}

// size returns the width and height in metres, for drawing.
func (l *Level) size() (width, height float64) {
	return float64(l.Columns * squareSize), float64(l.Rows * squareSize)
}

func (l *Level) squareAt(p fixed.Vec2) int {
	x := min(max(p.X.Int()/squareSize, 0), l.Columns-1)
	y := min(max(p.Y.Int()/squareSize, 0), l.Rows-1)
	return y*l.Columns + x
}

// Toward returns the next point on the way from one point to another: the middle of a neighbouring square. It returns the
// goal itself in the goal's square, or where no way leads to it.
func (l *Level) Toward(from, goal fixed.Vec2) fixed.Vec2 {
	at, to := l.squareAt(from), l.squareAt(goal)
	h := l.next[to*l.Columns*l.Rows+at]
	if h == 0 {
		return goal
	}
	step := headings[h-1]
	return metres((at%l.Columns+step[0])*squareSize+1, (at/l.Columns+step[1])*squareSize+1)
}

func metres(x, y int) fixed.Vec2 { return fixed.Vec2{X: fixed.FromInt(x), Y: fixed.FromInt(y)} }
