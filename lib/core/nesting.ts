/** How deep JSON text is nested. It is parsed at any depth, and whatever walks the value afterwards may do so by recursion. */

/** Levels of a result that is kept. */
export const RESULT_LEVELS = 1000;
/** Levels of a message: a result inside a command's data, with room for the mapping around it. */
export const MESSAGE_LEVELS = 1200;

/** Whether well-formed JSON text has more levels of lists and objects. Text too short for that is not looked at. */
export function isDeeper(text: string, levels: number): boolean {
  if (text.length <= 2 * levels) return false;
  let level = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at];
    if (quoted) {
      if (mark === '\\') at += 1;
      else if (mark === '"') quoted = false;
    } else if (mark === '"') quoted = true;
    else if (mark === '[' || mark === '{') {
      level += 1;
      if (level > levels) return true;
    } else if (mark === ']' || mark === '}') level -= 1;
  }
  return false;
}

export const tooDeep = (levels: number): string =>
  `lists and objects are nested more than ${levels} levels deep`;
