/** A zip file with one stored entry: what CreateFunction takes. */
import { crc32 } from 'node:zlib';

export function zipOf(name: string, content: Uint8Array): Buffer {
  const file = Buffer.from(name);
  const entry = Buffer.alloc(26);
  entry.writeUInt16LE(20, 0); // version needed
  entry.writeUInt16LE(0, 4); // stored
  entry.writeUInt16LE(0x21, 8); // 1 January 1980
  entry.writeUInt32LE(crc32(content), 10);
  entry.writeUInt32LE(content.length, 14);
  entry.writeUInt32LE(content.length, 18);
  entry.writeUInt16LE(file.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), entry, file, content]);
  const attributes = Buffer.alloc(14);
  attributes.writeUInt32LE((0o100644 << 16) >>> 0, 6); // readable by the function's user
  const central = Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), entry, attributes, file]);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(1, 4);
  end.writeUInt16LE(1, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(local.length, 12);
  return Buffer.concat([local, central, Buffer.from('PK\x05\x06'), end]);
}
