// The lowest contrast of a text of an SVG with what is painted behind it.
() => {
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (text) => {
    const [red, green, blue] = text.match(/[\d.]+/g).map(Number);
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  };
  const holds = (shape, x, y) => {
    const box = shape.getBoundingClientRect();
    return box.left <= x && x <= box.right && box.top <= y && y <= box.bottom;
  };
  const shapes = [...document.querySelectorAll("rect, circle, path")]
    .filter((shape) => !shape.closest("defs") && getComputedStyle(shape).fill !== "none");
  const ratios = [...document.querySelectorAll("text")].map((text) => {
    const box = text.getBoundingClientRect(), x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    const before = shapes.filter((shape) => shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING);
    const behind = before.filter((shape) => holds(shape, x, y)).at(-1);
    const [low, high] = [text, behind].map((part) => luminance(getComputedStyle(part).fill)).sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
  return [ratios.length, Math.min(...ratios)];
}
