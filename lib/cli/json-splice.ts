/** Changes one member of a JSON object's text; every other byte stays. */

interface Span {
  readonly name: string;
  /** From the opening quote of the name to the end of the value. */
  readonly from: number;
  readonly until: number;
}

const BLANK = /\s/;

/** Position after the text that begins at a quote. */
function afterText(json: string, quote: number): number {
  let at = quote + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** Members of the outermost object. The text must be that of one object. */
function members(json: string): Span[] {
  const found: Span[] = [];
  let level = 0;
  let name: { text: string; from: number } | undefined;
  let end = 0;
  for (let at = 0; at < json.length; at += 1) {
    const mark = json[at] ?? '';
    if (BLANK.test(mark)) continue;
    if (mark === '"') {
      const until = afterText(json, at);
      if (level === 1 && name === undefined) name = { text: JSON.parse(json.slice(at, until)), from: at };
      at = until - 1;
    } else if (mark === '{' || mark === '[') level += 1;
    else if (mark === '}' || mark === ']') level -= 1;
    // A member ends at its comma, or with the object; blanks before that are not its own.
    const isEnd = (mark === ',' && level === 1) || (mark === '}' && level === 0);
    if (isEnd && name !== undefined) {
      found.push({ name: name.text, from: name.from, until: end });
      name = undefined;
    }
    end = at + 1;
  }
  return found;
}

/**
 * Puts another member in the place of the one that has one of these names.
 * @param json text of one object
 * @returns undefined: none of them is there, or more than one
 */
export function withMember(
  json: string,
  names: readonly string[],
  name: string,
  valueText: string,
): string | undefined {
  const [span, ...more] = members(json).filter((member) => names.includes(member.name));
  if (span === undefined || more.length > 0) return undefined;
  return `${json.slice(0, span.from)}${JSON.stringify(name)}:${valueText}${json.slice(span.until)}`;
}
