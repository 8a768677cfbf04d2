/** The task that both workers of the bench handle: the same schema, the same result, no I/O. */
import * as z from 'zod/mini';

export const input = z.object({
  orderId: z.string(),
  lines: z.array(z.object({ sku: z.string(), quantity: z.int(), unitPriceCents: z.int() })),
});
export const output = z.object({ reservationId: z.string() });

export const work = async (order: z.infer<typeof input>): Promise<z.infer<typeof output>> => ({
  reservationId: `reservation-${order.orderId}`,
});
