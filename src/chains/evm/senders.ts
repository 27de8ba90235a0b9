// Reads who sent transactions, by their places: nodes forget the index by hash earlier than the blocks (go-ethereum after a year).

import type { Hex } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { hash, nullable, rawAddress, record, toQuantity } from '../node/wire.ts'
import { isMethodMissing } from './node-errors.ts'
import type { MinedLog } from './receipts.ts'
import type { Senders } from './traces.ts'

type Place = Pick<MinedLog, 'blockHash' | 'transactionHash' | 'transactionIndex'>
type Sender = readonly [transactionHash: Hex, sender: Hex]

const parseSender = (value: unknown): Sender => {
  const sent = record(value)
  return [hash(sent.hash), rawAddress(sent.from)]
}

const senderQuestion = ({ blockHash, transactionIndex }: Place): Question<Sender | null> =>
  question('eth_getTransactionByBlockHashAndIndex', [blockHash, toQuantity(transactionIndex)], nullable(parseSender))

/** The senders of the transactions at these places, each asked for once. One that the node does not say is missing. */
export const readSenders = async (rpc: Rpc, places: readonly Place[]): Promise<Senders> => {
  const distinct = new Map(places.map((place) => [place.transactionHash, place]))
  const answers = await rpc.tryAll([...distinct.values()].map(senderQuestion), { size: 'bulk' })
  const said = answers.map((answer) => (!answer.ok && isMethodMissing(answer.error) ? null : rpc.need(answer)))
  return new Map(said.filter((sender) => sender !== null))
}
