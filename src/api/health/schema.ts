import { Type } from '@sinclair/typebox'
import { NODE_STATES } from '../../chains/nodes.ts'
import { OneOf } from '../../platform/http/schema.ts'

export const Health = Type.Object({ status: Type.Literal('ok') }, { title: 'Health' })

export const Readiness = Type.Object(
  {
    status: Type.Literal('ready'),
    networks: Type.Record(Type.String(), Type.String(), {
      description:
        'By network: `ready`, `unreachable`, `wrong_chain`, or `stalled`: no worker has followed its blocks for half a minute, or its newest block is too old.',
      examples: [{ Ethereum: 'ready' }],
    }),
    nodes: Type.Record(
      Type.String(),
      OneOf(NODE_STATES, {
        description:
          'As this process last found it: `behind` the best one, `stalled` with a newest block that is too old, `slow`, `failing` several times in a row, of the `wrong_chain`, `resting` as it asked for a pause, or `down` as it does not answer; else `up`.',
      }),
      {
        description: 'By node: each node of a network, numbered in the order of the variable `…_RPC_URL`.',
        examples: [{ 'Ethereum#1': 'up', 'Ethereum#2': 'behind' }],
      },
    ),
  },
  { title: 'Readiness' },
)

export const Stopping = Type.Object({ error: Type.String(), code: Type.Literal('unavailable') })
