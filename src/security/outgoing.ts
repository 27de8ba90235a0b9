// Documents from servers that an operator named, such as identity providers. They are not trusted with our network: a request goes
// to no address that is private, also if the name of a public host leads to it, unless the operator has listed the host. No redirect is
// followed. Size and time are bounded.

import { lookup } from 'node:dns'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { Config } from '../config.ts'
import { isLocal, isPrivate } from '../environment/hosts.ts'

/** The document could not be read. The message is one sentence for operators; it has nothing of the document. */
export class OutgoingError extends Error {}

type OutgoingConfig = Pick<Config, 'environment' | 'outgoingPrivateHosts'>

const bare = (hostname: string): string => hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase()

const isListed = (config: OutgoingConfig, hostname: string): boolean =>
  config.outgoingPrivateHosts.includes(bare(hostname))

/** Why no request goes to a URL, as a sentence; null if it may, as far as its text shows. */
export const refusalOfUrl = (config: OutgoingConfig, text: string): string | null => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) return 'It must be a URL.'
  if (url.username !== '' || url.password !== '' || url.hash !== '') return 'A URL must have no user and no fragment.'
  const isListedHost = isListed(config, url.hostname)
  const mayBeHttp = isListedHost && (config.environment !== 'mainnet' || isLocal(bare(url.hostname)))
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && mayBeHttp)) return 'A URL must begin with https://.'
  if (isPrivate(url.hostname) && !isListedHost) {
    return 'The host is in a private network, and OUTGOING_PRIVATE_HOSTS does not list it.'
  }
  return null
}

/** Looks a name up, and refuses it if any of its addresses is private. So the address that is checked is the one that is used. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const isRefused = error === null && addresses.some(({ address }) => isPrivate(address))
    const refusal = new OutgoingError('The name of the host leads to an address of a private network.')
    callback(isRefused ? refusal : error, addresses)
  })
}

type Limits = { readonly maxBytes: number; readonly timeoutMs: number }

const isPlain = (encoding: string | undefined): boolean => encoding === undefined || encoding === 'identity'

const textFrom = (config: OutgoingConfig, url: URL, { maxBytes, timeoutMs }: Limits): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
      agent: false,
      ...(!isListed(config, url.hostname) && { lookup: publicLookup }),
    })
    const end = (refusal: Error | string): void => {
      clearTimeout(timer)
      reject(refusal instanceof Error ? refusal : new OutgoingError(refusal))
      request.destroy()
    }
    const timer = setTimeout(() => end('The server did not answer in time.'), timeoutMs)
    request.on('error', end)
    request.on('response', (response) => {
      if (response.statusCode !== 200) return end(`The server answered with status ${response.statusCode}.`)
      if (!isPlain(response.headers['content-encoding'])) return end('The server compressed its answer.')
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('error', end)
      response.on('aborted', () => end('The server broke off its answer.'))
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxBytes) return end(`The server answered with more than ${maxBytes} bytes.`)
        chunks.push(chunk)
      })
      response.on('end', () => {
        clearTimeout(timer)
        resolve(Buffer.concat(chunks).toString('utf8'))
      })
    })
    request.end()
  })

/**
 * Reads a JSON document.
 * @throws OutgoingError if the URL is refused, or if there is no such document within the limits.
 */
export const readJsonFrom = async (config: OutgoingConfig, text: string, limits: Limits): Promise<unknown> => {
  const refusal = refusalOfUrl(config, text)
  if (refusal !== null) throw new OutgoingError(refusal)
  try {
    return JSON.parse(await textFrom(config, new URL(text), limits))
  } catch (error) {
    if (error instanceof OutgoingError) throw error
    const what = error instanceof SyntaxError ? 'The answer is not JSON.' : 'The server could not be reached.'
    throw new OutgoingError(what, { cause: error })
  }
}
