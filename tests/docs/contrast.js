// Every text of a page whose contrast is below WCAG AA: 4.5, or 3 where it is large. Returns "ratio colour on colour: text".
() => {
  const parse = (text) => {
    const numbers = (text.match(/[\d.]+/g) || []).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [...numbers.slice(0, 3).map((value) => value * scale), numbers.length > 3 ? numbers[3] : 1];
  };
  const over = (top, below) => [...[0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])), 1];
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const ratio = (one, two) => {
    const [low, high] = [luminance(one), luminance(two)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const canvas = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      layers.push(parse(getComputedStyle(each).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), canvas);
  };
  const seen = new Map(), found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || element.closest("script, style, noscript, template, svg, [disabled]")) continue;
    // A button that waits for the pointer is invisible now and counts as if it were shown.
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ground = behind(element), ink = over(parse(style.color), ground);
    const key = `${ink} ${ground} ${large}`;
    if (seen.has(key)) continue;
    seen.set(key, true);
    const reached = ratio(ink, ground);
    if (reached < (large ? 3 : 4.5)) found.push(`${reached.toFixed(2)} ${style.color} on ${ground.map(Math.round)}: ${text.slice(0, 40)}`);
  }
  return found;
}
