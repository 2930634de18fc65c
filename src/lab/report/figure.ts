import { type Markup, markup } from './markup.js'

/** A drawing, and a text alternative for readers who cannot see it or need the numbers. */
export interface Figure {
  readonly title: string
  readonly about: string
  readonly legend?: Markup
  readonly drawing: Markup
}

/** The page width: desktop and paper, or phone. Text size is constant, so each drawing has two versions. */
export type Page = 'wide' | 'narrow'

type Widths = Readonly<Record<Page, number>>

const FULL: Widths = { wide: 920, narrow: 340 }

/** Draws a figure for wide and narrow pages. CSS shows the matching version. */
export const drawBoth = (
  title: string,
  heightOn: (page: Page) => number,
  draw: (width: number, page: Page) => Markup,
  widths: Widths = FULL,
): Markup =>
  markup`${(['wide', 'narrow'] as const).map((page) => {
    const width = widths[page]
    const height = heightOn(page)
    return markup`<svg class="${page}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}">${draw(width, page)}</svg>`
  })}`

export const renderFigure = ({ title, about, legend, drawing }: Figure): Markup =>
  markup`<figure><h3>${title}</h3>${legend}${drawing}<figcaption>${about}</figcaption></figure>`
