import { createHash } from 'node:crypto'

/**
 * The UUID of a name within a namespace, the same one wherever it is computed (RFC 9562 §5.5, version 5). Pure.
 * @param input.namespace a UUID.
 */
export const nameUuid = (input: { readonly namespace: string; readonly name: string }): string => {
  const bytes = createHash('sha1')
    .update(Buffer.from(input.namespace.replaceAll('-', ''), 'hex'))
    .update(input.name, 'utf8')
    .digest()
    .subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
