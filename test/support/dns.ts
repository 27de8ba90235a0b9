// A DNS server on loopback (RFC 1035) that answers each question for an IPv4 address with the next of its answers.

import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'

const HEADER_BYTES = 12
/** After the name: type and class, two bytes each. */
const QUESTION_TAIL_BYTES = 4
const IS_ANSWER = 0x8180
/** A pointer to the name of the question, type A, class IN, no time to live, four bytes. */
const ANSWER_START = [0xc0, HEADER_BYTES, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]

const answerTo = (question: Buffer, address: string): Buffer => {
  const nameEnd = question.indexOf(0, HEADER_BYTES) + 1
  const header = Buffer.from(question.subarray(0, HEADER_BYTES))
  header.writeUInt16BE(IS_ANSWER, 2)
  // One question, one answer, and nothing else.
  for (const [at, count] of [1, 1, 0, 0].entries()) header.writeUInt16BE(count, 4 + 2 * at)
  return Buffer.concat([
    header,
    question.subarray(HEADER_BYTES, nameEnd + QUESTION_TAIL_BYTES),
    Buffer.from([...ANSWER_START, ...address.split('.').map(Number)]),
  ])
}

/** @param addresses the answers, in this order; the last one is repeated. */
export const startDns = async (addresses: readonly string[]) => {
  const socket = createSocket('udp4')
  let asked = 0
  socket.on('message', (question, from) => {
    const address = addresses[Math.min(asked, addresses.length - 1)] ?? ''
    asked += 1
    socket.send(answerTo(question, address), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver()
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    asked: () => asked,
    resolve: async (hostname: string) => (await resolver.resolve4(hostname)).map((address) => ({ address })),
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  }
}
