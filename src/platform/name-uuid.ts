import { hash } from 'node:crypto'

const variantOf = (hex: string): string => ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16)

/** The first 32 digits as a UUID (RFC 9562 §4). Version and variant replace one digit each. */
export const uuidText = (input: { readonly hex: string; readonly version: 5 | 8; readonly variant?: '8' }): string => {
  const { hex, version, variant = variantOf(hex) } = input
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

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

/** A UUID of version 5 (RFC 9562 §5.5). @param input.namespace a UUID constant. */
export const nameUuid = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string => {
  const bytes = Buffer.allocUnsafe(NAMESPACE_BYTES + Buffer.byteLength(name))
  bytes.set(bytesOf(namespace))
  bytes.write(name, NAMESPACE_BYTES)
  return uuidText({ hex: hash('sha1', bytes, 'hex'), version: 5 })
}
