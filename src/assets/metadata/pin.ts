// Pins documents on IPFS with one request of Kubo's RPC API (https://docs.ipfs.tech/reference/kubo/rpc/#api-v0-add).
// Kubo's own client would bring about ninety packages into a process that opens keys.

import type { Config } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { MetadataDocument } from './host.ts'

// The CID of a small file: CIDv1, codec raw, SHA-256, base32 (the CID specification, multiformats). It follows from the
// file's digest, so we know it in advance and check the node's answer.

/** CIDv1, raw, sha2-256, 32 bytes. */
const PREFIX = '01551220'
const DIGEST_DIGITS = 64
/** 36 bytes are 288 bits: 58 digits of 5 bits; the last two bits are zero. */
const DIGITS = 58
const PADDING_BITS = 2n
/** RFC 4648 §6 in lower case; BigInt uses other digits. */
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'
const CID = /^b[a-z2-7]{58}$/
const HEX_DIGEST = /^[0-9a-f]{64}$/

/** @param digest SHA-256 in lower-case hex. Pure. */
export const cidOf = (digest: string): string => {
  const digits = (BigInt(`0x${PREFIX}${digest}`) << PADDING_BITS).toString(32).padStart(DIGITS, '0')
  return `b${digits.replace(/./g, (digit) => BASE32[Number.parseInt(digit, 32)] ?? '')}`
}

/** The same CID in base16, as contracts write it from a digest: this and the digest. */
export const CID_IN_HEX = `f${PREFIX}`

/** The digest in a CID from `cidOf`, or in base16; null for any other. Pure. */
export const digestOfCid = (cid: string): string | null => {
  const inHex = cid.startsWith(CID_IN_HEX) ? cid.slice(CID_IN_HEX.length) : ''
  if (HEX_DIGEST.test(inHex)) return inHex
  if (!CID.test(cid)) return null
  const number = [...cid.slice(1)].reduce((sum, digit) => sum * 32n + BigInt(BASE32.indexOf(digit)), 0n)
  const digest = (number >> PADDING_BITS).toString(16).slice(-DIGEST_DIGITS)
  return cidOf(digest) === cid ? digest : null
}

/** Every option that affects the CID, because the defaults of nodes differ. One block of 256 KiB holds any document. */
const ADD =
  '/api/v0/add?pin=true&progress=false&cid-version=1&raw-leaves=true&hash=sha2-256&chunker=size-262144' +
  '&wrap-with-directory=false&inline=false'

type PinConfig = Pick<Config, 'ipfsApiUrl' | 'nodeTimeoutMs'>

/** Adds and pins a document, if an IPFS node is configured. Idempotent. */
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
      // A redirect could send the document and the password elsewhere.
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
    // Errors of fetch contain the URL, which may hold a key, so keep only the error code.
    const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
    throw unpinned('the IPFS node cannot be reached', new Error(`fetch failed (${code})`))
  }
}

/** The CID in a one-line answer; null for any other answer. */
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
