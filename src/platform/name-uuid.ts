import { hash } from 'node:crypto'

const NAMESPACE_BYTES = 16

/** Caches the few namespaces of our own. */
const namespaces = new Map<string, Buffer>()

const bytesOf = (namespace: string): Buffer => {
  const known = namespaces.get(namespace)
  if (known !== undefined) return known
  const bytes = Buffer.from(namespace.replaceAll('-', ''), 'hex')
  namespaces.set(namespace, bytes)
  return bytes
}

/**
 * The UUID of a name within a namespace (RFC 9562 §5.5, version 5). Pure, except for the cache of namespaces.
 * @param input.namespace a UUID constant.
 */
export const nameUuid = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string => {
  const bytes = Buffer.allocUnsafe(NAMESPACE_BYTES + Buffer.byteLength(name))
  bytes.set(bytesOf(namespace))
  bytes.write(name, NAMESPACE_BYTES)
  const digest = hash('sha1', bytes, 'hex')
  const variant = ((Number.parseInt(digest.charAt(16), 16) & 0x3) | 0x8).toString(16)
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`
}
