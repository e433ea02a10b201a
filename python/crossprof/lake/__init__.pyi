from ._paths import captures_below as captures_below
from ._query import connect as connect
from ._regressions import regressions as regressions
from ._write import write as write
