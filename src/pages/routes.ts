import { readFile } from 'node:fs/promises'
import { Elysia } from 'elysia'

const hidden = { detail: { hide: true } }
const STYLE = new URL('style.css', import.meta.url)

/** The style sheet of all pages. */
export const pageRoutes = () =>
  new Elysia({ prefix: '/pages' }).get(
    '/style.css',
    async ({ set }) => {
      set.headers['content-type'] = 'text/css; charset=utf-8'
      set.headers['cache-control'] = 'no-cache'
      set.headers['x-content-type-options'] = 'nosniff'
      return readFile(STYLE, 'utf8')
    },
    hidden,
  )
