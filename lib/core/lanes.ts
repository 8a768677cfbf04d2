/** Does `one` for each item in the list's order, `width` of them at a time. */
export async function lanes<T>(
  items: readonly T[],
  width: number,
  one: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const lane = async (): Promise<void> => {
    for (const item of left) await one(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
}
