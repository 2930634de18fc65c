import { Fragment } from 'preact'

/** A shell line that wraps between words first, then after slashes. */
export const ShellLine = ({ text }: { readonly text: string }) => (
  <code>
    {text.split(' ').map((word, index) => (
      <Fragment key={index}>
        {index > 0 && ' '}
        <span class="word-of-line">
          {word.split(/(?<=\/)/).map((part, place) => (
            <Fragment key={place}>
              {place > 0 && <wbr />}
              {part}
            </Fragment>
          ))}
        </span>
      </Fragment>
    ))}
  </code>
)
