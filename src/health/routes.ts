import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { Ctx } from '../context.ts'
import { ErrorResponse } from '../http/schema.ts'
import { readiness } from './readiness.ts'

const Health = Type.Object({ status: Type.Literal('ok') }, { title: 'Health' })

const Readiness = Type.Object(
  {
    status: Type.Literal('ready'),
    networks: Type.Record(Type.String(), Type.String(), {
      description: '`ready`, `unreachable` or `wrong_chain`, a network.',
      examples: [{ Ethereum: 'ready' }],
    }),
  },
  { title: 'Readiness' },
)

export const healthRoutes = (ctx: Ctx) =>
  new Elysia({ normalize: false })
    .get('/healthz', () => ({ status: 'ok' as const }), {
      response: { 200: Health },
      detail: { tags: ['Health'], summary: 'The process lives', description: 'Asks nobody else.' },
    })
    .get('/readyz', () => readiness(ctx), {
      response: { 200: Readiness, 503: ErrorResponse },
      detail: {
        tags: ['Health'],
        summary: 'The process can serve',
        description:
          'Asks the database, and each node for its chain: one that does not say so within 1.5 s is `unreachable`. 503 where the database does not answer.',
      },
    })
