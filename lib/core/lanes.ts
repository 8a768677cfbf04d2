/** Does `one` for each item in the list's order, `width` of them at a time. */
export async function lanes<T>(
  items: readonly T[],
  width: number,
  one: (item: T) => Promise<unknown>,
): Promise<void> {
  // A lane for each, as in every batch of a worker: none has a second item to wait for.
  if (items.length <= width) {
    await Promise.all(items.map((item) => one(item)));
    return;
  }
  const left = items.values();
  const lane = async (): Promise<void> => {
    for (const item of left) await one(item);
  };
  await Promise.all(Array.from({ length: width }, lane));
}
