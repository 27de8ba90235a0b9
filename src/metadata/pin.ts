// Pinning on IPFS by Kubo's RPC API (https://docs.ipfs.tech/reference/kubo/rpc/#api-v0-add), which is one request: its own
// client brings some ninety packages, a network stack among them, into a process that opens keys.

import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import { cidOf } from './cid.ts'
import type { MetadataDocument } from './host.ts'

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
