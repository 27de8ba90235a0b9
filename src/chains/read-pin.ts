// What an operator pins: the metadata of the runtime that a node is of now.

import type { Hex } from './chain.ts'
import { readNow } from './substrate/blocks.ts'
import { createKnownNode } from './substrate/node.ts'
import { createRuntimes } from './substrate/runtime.ts'
import { coversMetadata } from './substrate/trust.ts'

export type Pin = {
  readonly specName: string
  readonly specVersion: number
  /** The BLAKE2b-256 of the metadata's bytes. */
  readonly hash: Hex
  /** Whether signatures can cover the metadata, so that a pin is needed only where the runtime was built without its hash. */
  readonly isCovered: boolean
}

/** As of the newest final block, by the word of this node. @throws NodeUnavailable. */
export const readPin = async (input: Parameters<typeof createKnownNode>[0]): Promise<Pin> => {
  const { rpc } = createKnownNode(input)
  const { runtime } = await readNow({ rpc, runtimes: createRuntimes({ rpc, ...input.row }) })
  const { specName, specVersion, bytesHash } = runtime
  return { specName, specVersion, hash: bytesHash, isCovered: coversMetadata(runtime) }
}
