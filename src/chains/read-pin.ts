// Reads the metadata pin that an operator configures: the hash of the metadata of a node's current runtime.

import type { Hex } from './chain.ts'
import { readFinalState } from './substrate/blocks.ts'
import { createKnownNode } from './substrate/node.ts'
import { createRuntimes } from './substrate/runtime.ts'
import { coversMetadata } from './substrate/trust.ts'

export type Pin = {
  readonly specName: string
  readonly specVersion: number
  /** The BLAKE2b-256 of the metadata's bytes. */
  readonly hash: Hex
  /** Whether signatures can cover the metadata. Then a pin is needed only if the runtime was built without its hash. */
  readonly isCovered: boolean
}

/** Reads the pin at the newest final block, as this node reports it. */
export const readPin = async (input: Parameters<typeof createKnownNode>[0]): Promise<Pin> => {
  const { rpc } = createKnownNode(input)
  const { runtime } = await readFinalState({ rpc, runtimes: createRuntimes({ rpc, ...input.row }) })
  const { specName, specVersion, bytesHash } = runtime
  return { specName, specVersion, hash: bytesHash, isCovered: coversMetadata(runtime) }
}
