// Pinning on IPFS by Kubo's RPC API (https://docs.ipfs.tech/reference/kubo/rpc/#api-v0-add), which is one request: its own
// client brings some ninety packages, a network stack among them, into a process that opens keys.

import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { MetadataDocument } from './host.ts'

// The name that IPFS gives to a small file: CIDv1, codec raw, SHA-256, base32 (the CID specification, multiformats). A file
// of one block is its own digest, so it is known before any node is asked, and a node's answer can be checked.

/** CIDv1, raw, sha2-256, 32 bytes. */
const PREFIX = '01551220'
const DIGEST_DIGITS = 64
/** 36 bytes are 288 bits: 58 digits of 5 bits, the last two bits zero. */
const DIGITS = 58
const PADDING_BITS = 2n
/** RFC 4648 §6 in lower case, against the digits of BigInt. */
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'
const CID = /^b[a-z2-7]{58}$/

/** @param digest SHA-256 in lower-case hex. Pure. */
export const cidOf = (digest: string): string => {
  const digits = (BigInt(`0x${PREFIX}${digest}`) << PADDING_BITS).toString(32).padStart(DIGITS, '0')
  return `b${digits.replace(/./g, (digit) => BASE32[Number.parseInt(digit, 32)] ?? '')}`
}

/** The digest in a CID as `cidOf` makes it; null for any other. Pure. */
export const digestOfCid = (cid: string): string | null => {
  if (!CID.test(cid)) return null
  const number = [...cid.slice(1)].reduce((sum, digit) => sum * 32n + BigInt(BASE32.indexOf(digit)), 0n)
  const digest = (number >> PADDING_BITS).toString(16).slice(-DIGEST_DIGITS)
  return cidOf(digest) === cid ? digest : null
}

/** All that decides the CID is said, as a node's own settings may differ; 256 KiB in one block hold any document. */
const ADD =
  '/api/v0/add?pin=true&progress=false&cid-version=1&raw-leaves=true&hash=sha2-256&chunker=size-262144' +
  '&wrap-with-directory=false&inline=false'

type PinConfig = Pick<Config, 'ipfsApiUrl' | 'nodeTimeoutMs'>

/** Adds and pins a document where an IPFS node is configured; idempotent. @throws unavailable. */
export const pinMetadata = async (config: PinConfig, document: MetadataDocument): Promise<void> => {
  const { ipfsApiUrl, nodeTimeoutMs: timeoutMs } = config
  if (ipfsApiUrl === null) return
  const pinned = cidIn(await add(document, { apiUrl: ipfsApiUrl.reveal(), timeoutMs }))
  if (pinned === cidOf(document.digest)) return
  throw unpinned('the IPFS node did not answer with the CID of its text')
}

const add = async (
  document: MetadataDocument,
  { apiUrl, timeoutMs }: { readonly apiUrl: string; readonly timeoutMs: number },
): Promise<string> => {
  const url = new URL(apiUrl)
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  const headers = user === ':' ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` }
  const form = new FormData()
  form.set('file', new Blob([document.body], { type: 'application/json' }), `${document.digest}.json`)
  try {
    const response = await fetch(`${url.origin}${url.pathname.replace(/\/+$/, '')}${ADD}`, {
      method: 'POST',
      headers,
      body: form,
      // It could send the document, and the password, elsewhere.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await response.text()
    if (response.status === 200) return text
    throw unpinned(`the IPFS node answered HTTP ${response.status}`)
  } catch (error) {
    if (error instanceof AppError) throw error
    if (error instanceof Error && error.name === 'TimeoutError')
      throw unpinned(`the IPFS node did not answer within ${timeoutMs} ms`)
    // Errors of fetch carry the URL, which may hold a key: only their kind is kept.
    const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
    throw unpinned('the IPFS node cannot be reached', new Error(`fetch failed (${code})`))
  }
}

/** The CID in an answer of one line; null for any other answer. */
const cidIn = (text: string): unknown => {
  try {
    const answer: unknown = JSON.parse(text)
    return typeof answer === 'object' && answer !== null && 'Hash' in answer ? answer.Hash : null
  } catch {
    return null
  }
}

const unpinned = (why: string, cause?: Error): AppError =>
  new AppError('unavailable', `The metadata was not pinned, and nothing was recorded: ${why}.`, { cause })
