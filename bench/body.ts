// What a megabyte of JSON from a stranger costs in CPU time: the check and parsing of its text beside JSON.parse alone,
// and whole requests beside a bare server that parses each body by JSON.parse.

import { bodyLimitOf } from '../src/platform/http/body.ts'
import { parseJsonText } from '../src/platform/http/json-text.ts'
import type { Service } from '../test/support/service.ts'

const MEGABYTE = 1_000_000
const TEXT_BYTES = 2 * MEGABYTE
const ITEMS = 9_000
const ROUNDS = 20
const REQUESTS = 30

const cpuMs = async (work: () => unknown): Promise<number> => {
  const { user, system } = process.cpuUsage()
  await work()
  const after = process.cpuUsage()
  return (after.user - user + after.system - system) / 1000
}

const repeated = (piece: string, bytes: number): string => piece.repeat(Math.ceil(bytes / piece.length))

const list = (items: number, item: (index: number) => string): string =>
  `[${Array.from({ length: items }, (_, index) => item(index)).join(',')}]`

/** Texts of about the same length, each dear in another way. */
const TEXTS: readonly { readonly what: string; readonly text: string }[] = [
  { what: 'call data', text: `{"input":"0x${repeated('a9059cbb', TEXT_BYTES)}"}` },
  {
    what: `${ITEMS} objects, a field each`,
    text: list(ITEMS / 2, (index) => `{"field_${index}":"${repeated('x', TEXT_BYTES / (ITEMS / 2) - 20)}"}`),
  },
  {
    what: `an object of ${ITEMS} fields`,
    text: `{${list(ITEMS, (index) => `"${repeated(`name ${index} `, TEXT_BYTES / ITEMS - 5)}":1`).slice(1, -1)}}`,
  },
  { what: 'escapes', text: `{"a":"${repeated('\\u00e9', TEXT_BYTES)}"}` },
  { what: 'text that is not Latin', text: `{"a":"${repeated('кошелёк', TEXT_BYTES / 2)}"}` },
  { what: 'white space', text: `{${repeated(' \n', TEXT_BYTES)}}` },
]

/** More than is taken: the check ends early, where JSON.parse would build all of it. */
const REFUSED: typeof TEXTS = [
  { what: 'refused: a million numbers', text: `{"a":${list(TEXT_BYTES / 2, () => '1')}}` },
  { what: 'refused: a hundred thousand objects', text: `{"a":${list(TEXT_BYTES / 20, () => '{"a":{"b":{"c":1}}}')}}` },
  { what: 'refused: nested without end', text: repeated('[', TEXT_BYTES) },
]

const attempt = (work: () => unknown): void => {
  try {
    work()
  } catch {
    // Refused: that costs something too.
  }
}

const costOfText = async ({ what, text }: (typeof TEXTS)[number]) => {
  const megabytes = (Buffer.byteLength(text) * ROUNDS) / MEGABYTE
  const many = (work: () => unknown) =>
    cpuMs(() => {
      for (let round = 0; round < ROUNDS; round += 1) attempt(work)
    })
  // Once to warm up.
  for (const work of [() => JSON.parse(text), () => parseJsonText(text)]) attempt(work)
  const parse = (await many(() => JSON.parse(text))) / megabytes
  const ours = (await many(() => parseJsonText(text))) / megabytes
  return { what, parseMsPerMegabyte: parse, oursMsPerMegabyte: ours, ratio: ours / parse }
}

type Sent = { readonly what: string; readonly path: string; readonly text: string; readonly isStranger: boolean }

const costOfRequests = async (service: Service, floorUrl: string, { what, path, text, isStranger }: Sent) => {
  const megabytes = (Buffer.byteLength(text) * REQUESTS) / MEGABYTE
  const headers = {
    'content-type': 'application/json',
    'x-walletkit-project-id': service.project.projectId,
    ...(isStranger ? {} : { authorization: `Bearer ${service.project.apiKey}` }),
  }
  const send = async (url: string): Promise<number> => {
    const answer = await fetch(url, { method: 'POST', headers, body: text })
    await answer.arrayBuffer()
    return answer.status
  }
  const many = (url: string) =>
    cpuMs(async () => {
      for (let request = 0; request < REQUESTS; request += 1) await send(url)
    })
  const status = await send(service.baseUrl + path)
  await send(floorUrl)
  const floor = (await many(floorUrl)) / megabytes
  const ours = (await many(service.baseUrl + path)) / megabytes
  return { what, status, floorMsPerMegabyte: floor, oursMsPerMegabyte: ours, ratio: ours / floor }
}

const callDataOf = (bytes: number): string =>
  JSON.stringify({
    network: 'Ethereum',
    signer_wallet_address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    unsigned_transaction: {
      to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      input: `0x${repeated('a9059cbb', bytes - 1_000)}`,
    },
    developer_secret: 'testnet-secret',
  })

const SMALL = bodyLimitOf('/users/login-with-email')
const LARGE = bodyLimitOf('/transactions/sign')

const SENT: readonly Sent[] = [
  {
    what: 'a stranger logs in with 4 MB',
    path: '/users/login-with-email',
    text: `{"email":"a@example.com","x":${list(190_000, () => '{"a":{"b":{"c":1}}}')}}`,
    isStranger: true,
  },
  {
    what: 'a stranger logs in with 16 KiB',
    path: '/users/login-with-email',
    text: `{"email":"a@example.com","x":${list(SMALL / 20 - 3, () => '{"a":{"b":{"c":1}}}')}}`,
    isStranger: true,
  },
  {
    what: 'and with 16 KiB of unknown fields',
    path: '/users/login-with-email',
    text: `{${list(SMALL / 8 - 100, (index) => `"${index.toString(36)}":1`).slice(1, -1)}}`,
    isStranger: true,
  },
  {
    what: 'an API key, call data of 4 MiB',
    path: '/transactions/sign',
    text: callDataOf(LARGE),
    isStranger: false,
  },
]

/** In this process, which sends too: what sending costs is in both figures of a request. */
export const benchBody = async (service: Service) => {
  const floor = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await request.arrayBuffer()))
      return Response.json({})
    },
  })
  const texts = []
  for (const text of [...TEXTS, ...REFUSED]) texts.push(await costOfText(text))
  const requests = []
  for (const sent of SENT) requests.push(await costOfRequests(service, `http://127.0.0.1:${floor.port}/`, sent))
  await floor.stop(true)
  return { texts, requests }
}

export const bodyTable = ({ texts, requests }: Awaited<ReturnType<typeof benchBody>>): readonly string[] => {
  const figures = (floor: number, ours: number, ratio: number) =>
    `${floor.toFixed(2).padStart(12)} ${ours.toFixed(2).padStart(10)} ${ratio.toFixed(2).padStart(7)}`
  return [
    '\nBodies: CPU ms a megabyte                  JSON.parse       ours   ratio',
    ...texts.map(
      ({ what, parseMsPerMegabyte, oursMsPerMegabyte, ratio }) =>
        `  ${what.padEnd(38)} ${figures(parseMsPerMegabyte, oursMsPerMegabyte, ratio)}`,
    ),
    'Whole requests                            bare server       ours   ratio',
    ...requests.map(
      ({ what, status, floorMsPerMegabyte, oursMsPerMegabyte, ratio }) =>
        `  ${`${what}: ${status}`.padEnd(38)} ${figures(floorMsPerMegabyte, oursMsPerMegabyte, ratio)}`,
    ),
  ]
}
