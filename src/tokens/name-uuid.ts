import { hash } from 'node:crypto'

/**
 * The UUID of a name within a namespace, the same one wherever it is computed (RFC 9562 §5.5, version 5). Pure.
 * @param input.namespace a UUID.
 */
export const nameUuid = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string => {
  const bytes = Buffer.concat([Buffer.from(namespace.replaceAll('-', ''), 'hex'), Buffer.from(name, 'utf8')])
  const digest = hash('sha1', bytes, 'hex')
  const variant = ((Number.parseInt(digest.charAt(16), 16) & 0x3) | 0x8).toString(16)
  const third = `5${digest.slice(13, 16)}`
  const fourth = `${variant}${digest.slice(17, 20)}`
  return [digest.slice(0, 8), digest.slice(8, 12), third, fourth, digest.slice(20, 32)].join('-')
}
