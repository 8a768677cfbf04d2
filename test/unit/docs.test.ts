/** What the documents say is there: links, tests, alarms' sections, commands, numbers. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const DOCUMENTS = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

interface Link {
  readonly text: string;
  /** From the root. Empty: the page itself. */
  readonly path: string;
  readonly anchor: string | undefined;
}

/** Links of a page to files of this project, code blocks apart. */
function linksOf(page: string): Link[] {
  const prose = read(page).replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)].flatMap(([, text = '', target = '']) => {
    if (/^https?:/.test(target)) return [];
    const [path = '', anchor] = target.split('#');
    const place = path === '' ? page : relative(ROOT, resolve(ROOT, dirname(page), path));
    return [{ text, path: place, anchor }];
  });
}

/** As GitHub makes them. */
const anchorsOf = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('links', () => {
  test.each(DOCUMENTS)('%s: every one leads somewhere', (page) => {
    for (const { path, anchor } of linksOf(page)) {
      expect(existsSync(join(ROOT, path)), path).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(path), `${path}#${anchor}`).toContain(anchor);
    }
  });

  test('no page names this machine or a registry', () => {
    for (const page of DOCUMENTS)
      expect(read(page), page).not.toMatch(/\/(?:work|home|root|tmp)\/|registry\./);
  });
});

describe('docs/guarantees.md', () => {
  const links = linksOf('docs/guarantees.md').filter(({ path }) => path.startsWith('test/'));

  test('every test that it names is there', () => {
    expect(links.length).toBeGreaterThan(50);
    for (const { text, path } of links) {
      // A title stands in quotes of one kind or another, perhaps after a number; an apostrophe in it may be escaped.
      const titles = read(path).replaceAll("\\'", "'");
      expect(
        ["'", '"', '`'].some((quote) => [quote, '} '].some((start) => titles.includes(start + text + quote))),
        `"${text}" in ${path}`,
      ).toBe(true);
    }
  });

  test('every guarantee names a test', () => {
    const sections = read('docs/guarantees.md').split(/^## /m).slice(1);
    const promises = sections.filter((section) => /^\d+\. /.test(section));
    expect(promises.length).toBeGreaterThanOrEqual(8);
    for (const section of promises) expect(section, section.slice(0, 60)).toMatch(/\]\(\.\.\/test\//);
  });
});
