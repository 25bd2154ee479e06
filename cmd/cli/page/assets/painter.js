// Paints the commands of a page.Picture, which describes them.
//
//   const { width, height } = fit(canvas);
//   paint(canvas.getContext("2d"), commands, { width, height, background: "#12141a" });
//   paint(canvas.getContext("2d"), server, { width, height, alpha: 0.3 });   // a second picture over it

const hudHeight = 16; // world units

// fit sets the size of a canvas to its pixels on the screen, and returns it.
export function fit(canvas) {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  return { width, height };
}

const styles = new Map(); // colours in CSS syntax

function style(color) {
  let s = styles.get(color);
  if (s === undefined) {
    if (styles.size > 4096) styles.clear();
    s = `rgb(${color >>> 24} ${(color >>> 16) & 255} ${(color >>> 8) & 255} / ${(color & 255) / 255})`;
    styles.set(color, s);
  }
  return s;
}

const aligns = ["left", "center", "right"];

const pictures = new Map(); // of assets, by name

// asset returns the image of an asset: undefined while it is loaded, null if it cannot be.
function asset(name) {
  let image = pictures.get(name);
  if (!image) {
    image = new Image();
    image.src = new URL(`../image/${encodeURIComponent(name)}`, import.meta.url);
    pictures.set(name, image);
  }
  if (!image.complete) return undefined;
  return image.naturalWidth > 0 ? image : null;
}

const tinted = new Map(); // images with a tint, by name and colour

// tint returns an image whose colours are multiplied by those of the tint.
function tint(image, name, color) {
  if (color >>> 8 === 0xffffff) return image;
  const key = `${color >>> 8} ${name}`;
  let result = tinted.get(key);
  if (!result) {
    if (tinted.size > 256) tinted.clear();
    result = document.createElement("canvas");
    result.width = image.naturalWidth;
    result.height = image.naturalHeight;
    const c = result.getContext("2d");
    c.drawImage(image, 0, 0);
    c.globalCompositeOperation = "multiply";
    c.fillStyle = style((color | 255) >>> 0);
    c.fillRect(0, 0, result.width, result.height);
    c.globalCompositeOperation = "destination-in"; // the opacity of the image
    c.drawImage(image, 0, 0);
    tinted.set(key, result);
  }
  return result;
}

// source returns the part of an image to paint, as ecs.ImageOptions does.
function source({ width, height }, [px, py, pw, ph], frames, frame) {
  if (!px && !py && !pw && !ph) [pw, ph] = [width, height];
  if (frames > 1) {
    pw = Math.floor(pw / frames);
    px += pw * (((frame % frames) + frames) % frames);
  }
  const x = Math.max(px, 0), y = Math.max(py, 0);
  return [x, y, Math.max(Math.min(px + pw, width) - x, 0), Math.max(Math.min(py + ph, height) - y, 0)];
}

// sprite paints an image into the rectangle. Without an image it paints a marker.
function sprite(c, image, name, [x, y, w, h], part, [frames, frame, rotation, mirrored], color) {
  c.save();
  c.translate(x + w / 2, y + h / 2);
  c.rotate(rotation);
  if (mirrored) c.scale(-1, 1);
  if (image) {
    const cut = source({ width: image.naturalWidth, height: image.naturalHeight }, part, frames, frame);
    if (color) c.globalAlpha *= (color & 255) / 255;
    if (cut[2] && cut[3]) c.drawImage(color ? tint(image, name, color) : image, ...cut, -w / 2, -h / 2, w, h);
  } else {
    c.fillStyle = "#ff00dc";
    c.fillRect(-w / 2, -h / 2, w, h);
    c.fillStyle = "#000";
    c.fillRect(0, -h / 2, w / 2, h / 2);
    c.fillRect(-w / 2, 0, w / 2, h / 2);
  }
  c.restore();
}

// paint draws the commands into width × height pixels, on a background if one is given. images returns the image of a name,
// null if there is none, or undefined if it is not loaded yet. alpha is the opacity.
export function paint(context, commands, { width, height, alpha = 1, background = "", images = asset, layers = [0, 1] }) {
  const c = context;
  c.save();
  c.setTransform(1, 0, 0, 1, 0, 0);
  if (background) {
    c.globalAlpha = 1;
    c.fillStyle = background;
    c.fillRect(0, 0, width, height);
  }
  c.globalAlpha = alpha;
  c.lineCap = "butt";
  const hud = { scale: height / hudHeight, x: 0, y: 0 };
  let world = hud, view = hud, shown = layers.includes(0), i = 0;
  const n = commands.length;
  const next = () => commands[i++];
  const px = (x) => (x - view.x) * view.scale;
  const py = (y) => (y - view.y) * view.scale;
  while (i < n) {
    switch (next()) {
      case 0: {
        const x = next(), y = next(), scale = height / next();
        world = { scale, x: x - width / 2 / scale, y: y - height / 2 / scale };
        view = world;
        break;
      }
      case 1: {
        const x = px(next()), y = py(next()), w = next() * view.scale, h = next() * view.scale;
        c.fillStyle = style(next());
        if (shown) c.fillRect(x, y, w, h);
        break;
      }
      case 2: {
        const x = px(next()), y = py(next()), r = Math.max(0, next() * view.scale);
        c.fillStyle = style(next());
        if (!shown) break;
        c.beginPath();
        c.arc(x, y, r, 0, 2 * Math.PI);
        c.fill();
        break;
      }
      case 3: {
        const x0 = px(next()), y0 = py(next()), x1 = px(next()), y1 = py(next());
        c.lineWidth = next() * view.scale;
        c.strokeStyle = style(next());
        if (!shown) break;
        c.beginPath();
        c.moveTo(x0, y0);
        c.lineTo(x1, y1);
        c.stroke();
        break;
      }
      case 4: {
        c.beginPath();
        for (let k = next(); k > 0; k--) c.lineTo(px(next()), py(next()));
        c.closePath();
        c.fillStyle = style(next());
        if (shown) c.fill();
        break;
      }
      case 5: {
        const x = px(next()), y = py(next()), size = next() * view.scale, align = next(), text = next();
        c.fillStyle = style(next());
        if (!shown) break;
        c.font = `500 ${size}px system-ui, sans-serif`;
        c.textAlign = aligns[align + 1];
        c.textBaseline = "top";
        c.fillText(text, x, y);
        break;
      }
      case 6: {
        const name = next(), image = images(name), box = [px(next()), py(next()), next() * view.scale, next() * view.scale];
        const part = [next(), next(), next(), next()], options = [next(), next(), next(), next()], color = next();
        if (shown && image !== undefined) sprite(c, image, name, box, part, options, color);
        break;
      }
      case 7: {
        const layer = next();
        view = layer === 1 ? hud : world;
        shown = layers.includes(layer);
        break;
      }
      default:
        c.restore();
        throw new Error(`painter: command ${commands[i - 1]} at ${i - 1} is unknown: the picture is of another version`);
    }
  }
  c.restore();
}

// place returns the world point under a pointer event, by the last camera of these commands.
export function place(event, canvas, commands) {
  const box = canvas.getBoundingClientRect();
  let camera = [0, 0, hudHeight], found = false;
  walk(commands, (at) => {
    camera = commands.slice(at + 1, at + 4);
    found = true;
  });
  const scale = camera[2] / box.height;
  const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
  if (!found) return { x, y };
  return { x: camera[0] + x - (box.width * scale) / 2, y: camera[1] + y - camera[2] / 2 };
}

const lengths = [4, 6, 5, 7, 0, 7, 15, 2]; // of each command with its number; a polygon contains its own

// walk calls camera with the index of each camera command.
function walk(commands, camera) {
  for (let i = 0; i < commands.length; ) {
    const number = commands[i];
    if (number === 0) camera(i);
    i += number === 4 ? 3 + 2 * commands[i + 1] : lengths[number];
  }
}
